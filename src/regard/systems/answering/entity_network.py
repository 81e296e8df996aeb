"""Recurrent entity network: a memory of entity blocks that each sentence updates through gates."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Share, Size, checked
from regard.masks import Mask
from regard.models.model_output import ModelOutput
from regard.nn.attention import Attention
from regard.nn.dropout import Dropout
from regard.nn.scores.dot import Dot
from regard.ops.attended import Attended

_SPREAD = 0.1  # standard deviation of the initial parameters, as in the paper
_LEAST = 1e-6  # lower bound of norms and sums that are divided by, so that zeros do not give NaN


class EntityState(NamedTuple):
    """State of an entity memory after a story.

    Attributes:
        blocks: [B, M, d], one unit vector per entity.
        gates: [B, M, N], gate of each block at each sentence; 0 at padding.
    """

    blocks: Tensor
    gates: Tensor


class EntityMemory(nn.Module):
    r"""Gated recurrent memory of M blocks with one key each, updated once per sentence.

    .. math:: g_j = \sigma(s_t^\top h_j + s_t^\top w_j), \quad \tilde h_j = \phi(U h_j + V w_j + W s_t), \quad
              h_j \leftarrow \frac{h_j + g_j \tilde h_j}{\lVert h_j + g_j \tilde h_j \rVert}

    A block is initialized with its key. The normalization makes it forget: new content reduces the share of the old.

    Args:
        dim: width d of sentences and blocks.
        num_blocks: number M of blocks.

    Parameters: `keys` w [M, d]; `state_map` U, `key_map` V, `input_map` W, each [d, d]; `slope` of φ, a PReLU.

    Shapes: sentences [B, N, d], inside [B, N] -> `EntityState`.

    Henaff, Weston, Szlam, Bordes & LeCun 2017, equations 2 to 5.

    >>> memory = EntityMemory(5, 3)
    >>> written = memory(torch.randn(2, 4, 5), torch.tensor([[True] * 4, [True, False, False, False]]))
    >>> written.blocks.norm(dim=-1).detach().round(decimals=4)[0], written.gates[1, :, 1:].any()
    (tensor([1., 1., 1.]), tensor(False))
    """

    def __init__(self, dim: int, num_blocks: int) -> None:
        super().__init__()
        self.keys = nn.Parameter(torch.empty(num_blocks, dim))
        nn.init.normal_(self.keys, std=_SPREAD)
        self.state_map, self.key_map, self.input_map = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.slope = nn.PReLU(init=1.0)
        for layer in (self.state_map, self.key_map, self.input_map):
            nn.init.normal_(layer.weight, std=_SPREAD)

    def forward(self, sentences: Tensor, inside: Tensor) -> EntityState:
        """Update the blocks with sentences [B, N, d] in order; sentences outside the mask [B, N] leave them as is."""
        blocks = self.keys.expand(len(sentences), -1, -1)  # [B, M, d]
        # Terms that do not depend on the blocks are computed for all sentences in parallel, before the recurrence.
        opened = sentences @ self.keys.T  # [B, N, M]
        written = self.key_map(self.keys) + self.input_map(sentences).unsqueeze(2)  # [B, N, M, d]
        gates = []
        for number in range(sentences.shape[1]):
            energy = (blocks @ sentences[:, number].unsqueeze(2)).squeeze(2) + opened[:, number]  # [B, M]
            gate = torch.sigmoid(energy).masked_fill(~inside[:, number, None], 0.0)
            candidate = self.slope(self.state_map(blocks) + written[:, number])  # [B, M, d]
            after = F.normalize(blocks + gate.unsqueeze(2) * candidate, dim=-1, eps=_LEAST)
            # A gate of 0 alone is not enough: normalizing would still change keys that are not unit vectors.
            blocks = torch.where(inside[:, number, None, None], after, blocks)
            gates.append(gate)
        return EntityState(blocks, torch.stack(gates, 2) if gates else sentences.new_zeros(*blocks.shape[:2], 0))


class EntityNetwork(nn.Module):
    r"""Reader that answers a question with one word, from a recurrent memory of entities.

    .. math:: s_t = \sum_i f_i \odot e_{ti}, \quad q = \sum_i f^q_i \odot e_i, \quad p = \mathrm{softmax}(q^\top h), \\
              u = \sum_j p_j h_j, \quad \text{logits} = R\, \phi(q + H u)

    The story is encoded once, without the question, in time O(N M); each question then attends to M blocks.
    `attended` contains the contribution of each sentence, Σ_j p_j g_jt / Σ_t g_jt. The extras are the `gates`
    [B, M, N] and the attention weights over blocks, `read` [B, M].

    Args:
        vocab_size: size V of the vocabulary of stories, questions and answers.
        num_answers: number of candidate answers; must equal `vocab_size`. A recipe sets both.
        dim: width d of embeddings and blocks.
        num_blocks: number M of blocks.
        memory_size: number of sentences that are read, counted from the end of the story.
        max_words: number of word positions with a mask f_i of their own; later positions use the last one.
        dropout: dropout of the embeddings.

    Shapes: story [B, N, J], question [B, J'], sentences [B] -> logits [B, V].

    Henaff, Weston, Szlam, Bordes & LeCun 2017, "Tracking the World State with Recurrent Entity Networks", with learned
    keys. The task excludes special tokens (padding, unknown, ...) from the answers.

    >>> model = EntityNetwork(11, 11, dim=5, num_blocks=3).eval()
    >>> predicted = model(torch.ones(2, 3, 7).long(), torch.ones(2, 4).long(), torch.tensor([3, 1]))
    >>> predicted.logits.shape, predicted.attended.weights()[1, 0]
    (torch.Size([2, 11]), tensor([1., 0., 0.], grad_fn=...))
    """

    @checked()
    def __init__(
        self,
        vocab_size: int,
        num_answers: int,
        *,
        dim: Size = 100,
        num_blocks: Size = 20,
        memory_size: Size = 130,
        max_words: Size = 32,
        dropout: Share = 0.0,
    ) -> None:
        super().__init__()
        if vocab_size != num_answers:
            raise ValueError(
                f"EntityNetwork: answers are words of the vocabulary, as many as there are to read; "
                f"got {vocab_size} and {num_answers}"
            )
        self.memory_size = memory_size
        self.words = nn.Embedding(vocab_size, dim, padding_idx=0)
        nn.init.normal_(self.words.weight, std=_SPREAD)
        with torch.no_grad():
            self.words.weight[0] = 0.0
        self.masks = nn.Parameter(torch.ones(max_words, dim))
        self.question_masks = nn.Parameter(torch.ones(max_words, dim))
        self.memory = EntityMemory(dim, num_blocks)
        self.attention = Attention(Dot())
        self.hop_map = nn.Linear(dim, dim, bias=False)
        self.slope = nn.PReLU(init=1.0)
        self.output_map = nn.Linear(dim, vocab_size, bias=False)
        for layer in (self.hop_map, self.output_map):
            nn.init.normal_(layer.weight, std=_SPREAD)
        self.dropout = Dropout(dropout)

    def forward(self, story: Tensor, question: Tensor, sentences: Tensor | None = None) -> ModelOutput:
        """Map stories [B, N, J] with numbers of `sentences` [B], and questions [B, J'], to logits [B, V]."""
        inside = self._inside(story, sentences)
        written = self.memory(self._summed(story, self.masks), inside)
        asked = self._summed(question, self.question_masks)  # [B, d]
        read = self.attention(asked.unsqueeze(1), written.blocks)
        logits = self.output_map(self.slope(asked + self.hop_map(read.context.squeeze(1))))
        looked = read.weights().squeeze(1)  # [B, M]
        shares = written.gates / written.gates.sum(2, keepdim=True).clamp(min=_LEAST)  # [B, M, N]
        weights = (looked.unsqueeze(1) @ shares).unsqueeze(1)  # [B, 1, 1, N]
        attended = Attended.from_weights(read.context, weights, has_heads=False)
        return ModelOutput(logits, attended=attended, extras={"gates": written.gates, "read": looked})

    def _inside(self, story: Tensor, sentences: Tensor | None) -> Tensor:
        """Return the mask [B, N] of the last `memory_size` sentences of each story, without padding."""
        batch, size = story.shape[:2]
        count = torch.full((batch,), size, device=story.device) if sentences is None else sentences.to(story.device)
        mask = Mask.padding(count).allowed((batch, 1, 1, size), device=story.device)[:, 0, 0]
        age = count.unsqueeze(1) - torch.arange(size, device=story.device)
        return mask & (age <= self.memory_size)

    def _summed(self, words: Tensor, masks: Tensor) -> Tensor:
        """Encode each sentence as Σ_i f_i ⊙ e_i over its words: [..., J] -> [..., d]."""
        place = torch.arange(words.shape[-1], device=words.device).clamp(max=len(masks) - 1)
        summed: Tensor = (self.dropout(self.words(words)) * masks[place]).sum(-2)
        return summed
