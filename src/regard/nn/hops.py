"""End-to-end memory networks: a question attends to the sentences of a story in several hops."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.aligners.base import Aligner
from regard.nn.attention import Attention
from regard.nn.scores.dot import Dot
from regard.ops.memory_hops import Hops, insert_empty, time_index
from regard.ops.memory_hops import position_encoding as place_weights

Tying = Literal["adjacent", "layerwise"]

_SPREAD = 0.1  # standard deviation of the initialisation of all parameters, as in the paper


class SentenceEncoder(nn.Module):
    r"""A sentence as a weighted bag of words: Σ_j l_j ⊙ A x_j.

    Args:
        vocab_size: V.
        dim: d.
        padding_id: id of the padding word: its embedding is zero and gets no gradient.
        position_encoding: weight words by their position (l_j); without it l = 1.

    Parameters: `embedding` A [V, d].

    Shapes: words [..., J] -> [..., d].

    Sukhbaatar et al. 2015, section 4.1; see `regard.ops.position_encoding`.

    >>> SentenceEncoder(vocab_size=11, dim=5)(torch.tensor([[1, 2, 0], [0, 0, 0]]))[1]
    tensor([0., 0., 0., 0., 0.], grad_fn=...)
    """

    def __init__(self, vocab_size: int, dim: int, *, padding_id: int = 0, position_encoding: bool = True) -> None:
        super().__init__()
        self.padding_id = padding_id
        self.position_encoding = position_encoding
        self.embedding = nn.Embedding(vocab_size, dim, padding_idx=padding_id)
        nn.init.normal_(self.embedding.weight, std=_SPREAD)
        with torch.no_grad():
            self.embedding.weight[padding_id] = 0.0

    def forward(self, words: Tensor) -> Tensor:
        embedded: Tensor = self.embedding(words)  # [..., j, d]
        if self.position_encoding:
            count = (words != self.padding_id).sum(-1)
            weight = place_weights(count, embedded.shape[-1], size=words.shape[-1])
            embedded = embedded * weight.to(embedded.dtype)
        return embedded.sum(-2)


class StoryEncoder(nn.Module):
    r"""The sentences of a story as memories, each with its age: m_i = Σ_j l_j ⊙ A x_ij + T(i).

    Args:
        vocab_size: V.
        dim: d.
        max_sentences: number of distinct ages.
        padding_id: id of the padding word.
        position_encoding: weight words by their position.

    Parameters: `sentence.embedding` A [V, d], `time` T [max_sentences, d], row 0 for the most recent sentence.

    Shapes: story [B, N, J] -> [B, N, d].

    Sukhbaatar et al. 2015, section 4.1; see `regard.ops.time_index`.

    >>> StoryEncoder(vocab_size=11, dim=5, max_sentences=50)(torch.randint(11, (2, 3, 7))).shape
    torch.Size([2, 3, 5])
    """

    def __init__(
        self, vocab_size: int, dim: int, max_sentences: int, *, padding_id: int = 0, position_encoding: bool = True
    ) -> None:
        super().__init__()
        self.sentence = SentenceEncoder(vocab_size, dim, padding_id=padding_id, position_encoding=position_encoding)
        self.time = nn.Parameter(torch.empty(max_sentences, dim))
        nn.init.normal_(self.time, std=_SPREAD)

    def forward(self, story: Tensor, mask: Mask | None = None) -> Tensor:
        """Encode a story [B, N, J]; `mask` is `Mask.padding(sentences)`, None if all stories have N sentences."""
        sentences: Tensor = self.sentence(story)
        age = time_index(_counts(story, mask), story.shape[1])
        return sentences + self.time[age.clamp(0, self.time.shape[0] - 1)]


class StoryMemory(NamedTuple):
    """Encoded story and question before the first hop.

    Attributes:
        question: u¹ [B, d].
        memories: [B, N, d] of each encoder.
        readable: mask of the sentences that can be attended to.
    """

    question: Tensor
    memories: tuple[Tensor, ...]
    readable: Mask


class MemoryHops(nn.Module):
    r"""An end-to-end memory network without its answer layer: a question attends to a story in K hops.

    .. math:: u^1 = B q, \quad p^k = \mathrm{softmax}({u^k}^\top m^k), \quad o^k = \sum_i p^k_i c^k_i, \quad
              u^{k+1} = u^k + o^k

    Weights are tied in one of two ways. *Adjacent*: the output embedding of one hop is the input embedding of the next,
    A^{k+1} = C^k, and B = A¹. *Layer-wise*: the same A and C in all hops, a separate B, and u^{k+1} = H u^k + o^k. Time
    embeddings are tied like the word embeddings.

    Only the `max_sentences` most recent sentences can be attended to. In training, empty memories are inserted into the
    story (`noise`), so weights may have more columns than the story has sentences.

    Args:
        vocab_size: V.
        dim: d.
        num_hops: K.
        tying: weight tying between hops: `"adjacent"` or `"layerwise"`.
        max_sentences: maximum number of sentences in the memory.
        padding_id: id of the padding word.
        position_encoding: weight words by their position.
        noise: rate of empty memories in training; 0 for none.

    Parameters: `encoders`, K + 1 of them (adjacent: A¹, C¹, ..., C^K) or 2 (layer-wise: A, C); layer-wise also
    `question` B and `carry` H. `hops` has no parameters: one `Attention` per hop, for captures to distinguish.

    Shapes: story [B, N, J], question [B, J'] -> output [B, d], and for each hop weights [B, 1, N].

    Sukhbaatar et al. 2015, "End-To-End Memory Networks", section 2; see `regard.ops.memory_hops`.

    >>> network = MemoryHops(vocab_size=11, dim=5, num_hops=3).eval()
    >>> out = network(torch.randint(1, 11, (2, 4, 7)), torch.randint(1, 11, (2, 6)), Mask.padding([4, 2]))
    >>> out.output.shape, [read.weights().shape for read in out.reads]
    (torch.Size([2, 5]), [torch.Size([2, 1, 4]), torch.Size([2, 1, 4]), torch.Size([2, 1, 4])])
    """

    def __init__(
        self,
        vocab_size: int,
        dim: int,
        num_hops: int = 3,
        *,
        tying: Tying = "adjacent",
        max_sentences: int = 50,
        padding_id: int = 0,
        position_encoding: bool = True,
        noise: float = 0.1,
    ) -> None:
        super().__init__()
        if tying not in get_args(Tying):
            raise ValueError(f"MemoryHops: tying must be 'adjacent' or 'layerwise'; got {tying!r}")
        self.max_sentences = max_sentences
        self.padding_id = padding_id
        self.noise = noise
        tables = num_hops + 1 if tying == "adjacent" else 2
        self.encoders = nn.ModuleList(
            StoryEncoder(vocab_size, dim, max_sentences, padding_id=padding_id, position_encoding=position_encoding)
            for _ in range(tables)
        )
        self.question: SentenceEncoder | None = None
        self.carry: nn.Linear | None = None
        if tying == "layerwise":
            self.question = SentenceEncoder(vocab_size, dim, padding_id=padding_id, position_encoding=position_encoding)
            self.carry = nn.Linear(dim, dim, bias=False)
            nn.init.normal_(self.carry.weight, std=_SPREAD)
        self.hops = nn.ModuleList(Attention(Dot()) for _ in range(num_hops))

    def forward(self, story: Tensor, question: Tensor, mask: Mask | None = None) -> Hops:
        """Attend to a story in K hops.

        Args:
            story: [B, N, J] words, oldest sentence first.
            question: [B, J'] words.
            mask: `Mask.padding(sentences)`; None where all stories have N sentences.

        Returns:
            Hops with output u^{K+1} [B, d] and an Attended for each hop.
        """
        return self.read(self.remember(story, question, mask))

    def remember(self, story: Tensor, question: Tensor, mask: Mask | None = None) -> StoryMemory:
        """Encode story and question for all hops. Arguments as in `forward`."""
        if story.dim() != 3 or question.dim() != 2 or story.shape[0] != question.shape[0]:
            raise ValueError(
                f"MemoryHops: story must be [B, N, J] and question [B, J'] words; "
                f"got {list(story.shape)} and {list(question.shape)}"
            )
        sentences = _counts(story, mask)
        if self.training and self.noise:
            story, sentences = insert_empty(story, sentences, self.noise, padding_id=self.padding_id)
        age = time_index(sentences, story.shape[1])
        readable = Mask.of(((age >= 0) & (age < self.max_sentences)).unsqueeze(1))
        there = Mask.padding(sentences)
        return StoryMemory(
            self._question(question), tuple(encoder(story, there) for encoder in self.encoders), readable
        )

    def read(self, memory: StoryMemory) -> Hops:
        """Run the hops over an encoded story."""
        state, reads = memory.question, []
        for number, hop in enumerate(self.hops):
            key, value = self._memories(memory, number)
            reads.append(hop(state.unsqueeze(1), key, value, mask=memory.readable))
            state = self._carried(state) + reads[-1].context.squeeze(1)
        return Hops(state, tuple(reads))

    def recall(self, memory: StoryMemory, weights: Tensor) -> Tensor:
        """Return the output [B, d] of hops whose weights [B, K, N] are given.

        >>> network = MemoryHops(vocab_size=11, dim=5, num_hops=3).eval()
        >>> story, question = torch.randint(1, 11, (2, 4, 7)), torch.randint(1, 11, (2, 6))
        >>> out = network(story, question)
        >>> weights = torch.cat([read.weights() for read in out.reads], 1)
        >>> torch.allclose(network.recall(network.remember(story, question), weights), out.output, atol=1e-6)
        True
        """
        state = memory.question
        for number, read in enumerate(weights.unbind(1)):
            _, value = self._memories(memory, number)
            state = self._carried(state) + (read.unsqueeze(1) @ value).squeeze(1)
        return state

    def _memories(self, memory: StoryMemory, number: int) -> tuple[Tensor, Tensor]:
        """Return keys and values of a hop."""
        at = number if self.question is None else 0
        return memory.memories[at], memory.memories[at + 1]

    def _carried(self, state: Tensor) -> Tensor:
        """Return H u with layer-wise tying, otherwise u."""
        carried: Tensor = state if self.carry is None else self.carry(state)
        return carried

    def _question(self, words: Tensor) -> Tensor:
        """Encode the question: u¹ = B q, with the first hop's embedding if B = A¹."""
        first = self.encoders[0]
        assert isinstance(first, StoryEncoder)
        encoded: Tensor = (first.sentence if self.question is None else self.question)(words)
        return encoded

    def align(self, aligner: Aligner) -> None:
        """Replace the aligner of all hops: `LinearAligner()` for linear start, `Softmax()` afterwards."""
        for hop in self.hops:
            hop.align = aligner


def _counts(story: Tensor, mask: Mask | None) -> Tensor:
    """Return the number of sentences per story, [B]."""
    batch, size, _ = story.shape
    Mask.check(mask)
    if mask is None:
        return torch.full((batch,), size, device=story.device)
    return mask.true_lengths(batch, size).to(story.device)
