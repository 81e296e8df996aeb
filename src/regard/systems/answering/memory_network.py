"""End-to-end memory network: the question attends to the story in several hops; the answer is one word."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked
from regard.masks import Mask
from regard.models.model_output import ModelOutput, concatenate_attended
from regard.nn.aligners import LinearAligner, SlotSoftmax, Softmax
from regard.nn.hops import MemoryHops, StoryEncoder, Tying


class MemoryNetwork(nn.Module):
    r"""Reader that answers a question with one word, by several attention hops over the sentences of a story.

    .. math:: u^{K+1} = \mathrm{hops}(\text{story}, \text{question}), \quad
              p(\text{answer}) = \mathrm{softmax}(W u^{K+1})

    With adjacent tying, W is tied to the output embeddings of the last hop, Wᵀ = C^K. With layer-wise tying, W is a
    separate matrix. The task excludes special tokens (padding, unknown, ...) from the answers.

    Only the last `memory_size` sentences of a longer story are read. For a shorter story, the remaining slots are
    empty memories: with `empty_slots`, a hop can attend to them and read zeros (see `regard.nn.SlotSoftmax`).

    *Linear start*: with `linear_start`, training starts without the softmax of the hops. The softmax is inserted at
    the first validation whose loss is not lower than the lowest before (`observe`). This state is saved with the
    weights.

    Args:
        vocab_size: size V of the vocabulary of stories, questions and answers.
        num_answers: number of candidate answers; must equal `vocab_size`. A recipe sets both.
        dim: width d of the embeddings.
        num_hops: number K of hops.
        tying: weight tying between hops: `"adjacent"` or `"layerwise"`.
        memory_size: number of sentences in the memory, counted from the end of the story.
        empty_slots: include empty slots of the memory in the softmax.
        position_encoding: encode the order of words in a sentence.
        noise: rate of empty memories that are inserted in training; 0 for none.
        linear_start: start training without the softmax.

    Sukhbaatar, Szlam, Weston & Fergus 2015, "End-To-End Memory Networks"; see `regard.nn.MemoryHops`.

    >>> model = MemoryNetwork(11, 11, dim=5, num_hops=2).eval()
    >>> predicted = model(torch.ones(2, 3, 7).long(), torch.ones(2, 4).long(), torch.tensor([3, 1]))
    >>> predicted.logits.shape, predicted.attended.weights().shape
    (torch.Size([2, 11]), torch.Size([2, 2, 3]))
    """

    linear: Tensor
    lowest: Tensor

    @checked()
    def __init__(
        self,
        vocab_size: int,
        num_answers: int,
        *,
        dim: Size = 20,
        num_hops: Size = 3,
        tying: Tying = "adjacent",
        memory_size: Size = 50,
        empty_slots: bool = True,
        position_encoding: bool = True,
        noise: Share = 0.1,
        linear_start: bool = False,
    ) -> None:
        super().__init__()
        if vocab_size != num_answers:
            raise ValueError(
                f"MemoryNetwork: answers are words of the vocabulary, as many as there are to read; "
                f"got {vocab_size} and {num_answers}"
            )
        self.hops = MemoryHops(
            vocab_size,
            dim,
            num_hops,
            tying=tying,
            max_sentences=memory_size,
            position_encoding=position_encoding,
            noise=noise,
        )
        self.empty_slots = empty_slots
        self.output_map: nn.Linear | None = None
        if tying == "layerwise":
            self.output_map = nn.Linear(dim, vocab_size, bias=False)
            nn.init.normal_(self.output_map.weight, std=0.1)
        self.register_buffer("linear", torch.tensor(linear_start))
        self.register_buffer("lowest", torch.tensor(math.inf))

    @property
    def memory_size(self) -> int:
        """Capacity of the memory in sentences."""
        return self.hops.max_sentences

    def forward(self, story: Tensor, question: Tensor, sentences: Tensor | None = None) -> ModelOutput:
        """Map stories [B, N, J] with numbers of `sentences` [B], and questions [B, J'], to logits [B, V]."""
        mask = None if sentences is None else Mask.padding(sentences)
        found = self.ready_hops()(story, question, mask)
        return ModelOutput(self.answer(found.output), attended=concatenate_attended(found.reads))

    def ready_hops(self) -> MemoryHops:
        """Return the hops with the current aligner: linear during the linear start, a softmax after it."""
        settled = SlotSoftmax(self.memory_size) if self.empty_slots else Softmax()
        self.hops.align(LinearAligner() if self.linear else settled)
        return self.hops

    def answer(self, output: Tensor) -> Tensor:
        """Return logits [B, V] from the output of the hops [B, d]."""
        return nn.functional.linear(output, self._answers())

    def observe(self, loss: float) -> str | None:
        """Record a validation loss and end the linear start if it did not fall; return a notice if it ended."""
        if not self.linear:
            return None
        fell = loss < float(self.lowest)
        self.lowest.fill_(min(loss, float(self.lowest)))
        if fell:
            return None
        self.linear.fill_(False)
        return "the linear start is over: the validation loss fell no more, and the hops have their softmax back"

    def _answers(self) -> Tensor:
        """Return the output matrix W [V, d]."""
        if self.output_map is not None:
            return self.output_map.weight
        last = self.hops.encoders[-1]
        assert isinstance(last, StoryEncoder)
        return last.sentence.embedding.weight
