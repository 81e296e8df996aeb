"""End-to-end memory networks: a question reads a story several times over, and answers with a word."""

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
    r"""A word that answers a question about a story.

    .. math:: u^{K+1} = \mathrm{hops}(\text{story}, \text{question}), \quad
              p(\text{answer}) = \mathrm{softmax}(W u^{K+1})

    With adjacent tying W is the last hop's output table, Wᵀ = C^K, so that a word means the same in a story and as an
    answer; layer-wise, W is a table of its own. Special words (padding, unknown, ...) are no answers.

    Of a story longer than `memory_size` only the most recent sentences are read. With a shorter one the rest of the
    memory is empty: there a hop can look that needs nothing, and read nothing (`empty_slots`; see
    `regard.nn.SlotSoftmax`).

    *Linear start*: with `linear_start` the hops begin without their softmax, and get it at the first validation whose
    loss is no lower than the lowest before (`observe`). Which of both holds is saved with the weights.

    Args:
        vocab_size: V, words of stories, questions and answers.
        num_answers: the same V; what a recipe gives.
        dim: width d of the embeddings.
        num_hops: number K of hops.
        tying: weight tying between hops: `"adjacent"` or `"layerwise"`.
        memory_size: number of sentences in the memory, the last ones of a story.
        empty_slots: include empty slots of the memory in the softmax.
        position_encoding: encode the order of words in a sentence.
        noise: rate of empty memories in training; 0 for none.
        linear_start: begin training without the softmax.

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
        """Number of sentences that the memory holds."""
        return self.hops.max_sentences

    def forward(self, story: Tensor, question: Tensor, sentences: Tensor | None = None) -> ModelOutput:
        """Words of stories [B, N, J] with so many `sentences` [B], and of questions [B, J'] -> logits [B, V]."""
        mask = None if sentences is None else Mask.padding(sentences)
        found = self.ready_hops()(story, question, mask)
        return ModelOutput(self.answer(found.output), attended=concatenate_attended(found.reads))

    def ready_hops(self) -> MemoryHops:
        """Return the hops with the aligner of this state of the training."""
        settled = SlotSoftmax(self.memory_size) if self.empty_slots else Softmax()
        self.hops.align(LinearAligner() if self.linear else settled)
        return self.hops

    def answer(self, output: Tensor) -> Tensor:
        """Return logits [B, V] by the output of the hops [B, d]."""
        return nn.functional.linear(output, self._answers())

    def observe(self, loss: float) -> str | None:
        """Take note of a validation; what that changes, in a sentence."""
        if not self.linear:
            return None
        fell = loss < float(self.lowest)
        self.lowest.fill_(min(loss, float(self.lowest)))
        if fell:
            return None
        self.linear.fill_(False)
        return "the linear start is over: the validation loss fell no more, and the hops have their softmax back"

    def _answers(self) -> Tensor:
        """W, [V, d]."""
        if self.output_map is not None:
            return self.output_map.weight
        last = self.hops.encoders[-1]
        assert isinstance(last, StoryEncoder)
        return last.sentence.embedding.weight
