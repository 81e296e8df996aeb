"""Interactions of passage and question: question-aware context vectors for the words of a passage."""

from __future__ import annotations

import abc
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.models.encoded import Encoded
from regard.nn.coattention import Coattention
from regard.ops.attended import Attended

InteractionKind = Literal["coattention", "attention", "summary", "none"]


class InteractionOutput(NamedTuple):
    """Context vectors of a passage, and the attention that they were computed with.

    Attributes:
        context: [B, S, C], context vector of each passage word.
        passage: A^D [B, S, Q + 1], attention of passage words to the question, sentinel last; None without attention.
        question: A^Q [B, Q, S + 1], attention of question words to the passage, sentinel last; None likewise.
    """

    context: Tensor
    passage: Attended | None = None
    question: Attended | None = None


class Interaction(nn.Module, abc.ABC):
    """Base class: computes a question-aware context vector for each word of a passage.

    Attributes:
        output_dim: C, width of the context vectors.
    """

    output_dim: int

    @abc.abstractmethod
    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        """Return the context vector of each passage word, [B, S, C]."""


class Coattending(Interaction):
    r"""Coattention: each passage word attends to the question words and to their contexts from the passage.

    .. math:: C^D = [Q; C^Q]\, A^D

    See `regard.nn.Coattention`.

    Args:
        dim: l, width of the words of both sides.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.output_dim = 2 * dim
        self.coattention = Coattention(dim)

    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        found = self.coattention(passage.states, question.states, passage.mask, question.mask)
        return InteractionOutput(found.context, found.document, found.question)


class QuestionAttention(Coattending):
    r"""Attention in one direction: each passage word attends to the question.

    .. math:: C^D = Q A^D

    This is coattention without its second half. The paper's ablation "C^D := C^Q" is implemented as this attention, as
    in Wang & Jiang 2016: taken literally, C^Q has one column per *question* word and does not fit a passage.

    Args:
        dim: l, width of the words of both sides.
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.output_dim = dim

    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        met = super().forward(passage, question)
        return InteractionOutput(met.context[..., : self.output_dim], met.passage)


class QuestionSummary(Interaction):
    """No attention: the context of every passage word is the question as one vector.

    Args:
        dim: width of this vector.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.output_dim = dim

    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        return InteractionOutput(question.summary.unsqueeze(1).expand(-1, passage.states.shape[1], -1))


class NoInteraction(Interaction):
    """No interaction: the passage is encoded independently of the question.

    Args:
        dim: width of the words; unused.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.output_dim = 0

    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        return InteractionOutput(torch.empty_like(passage.states[..., :0]))


INTERACTIONS: dict[InteractionKind, type[Coattending | QuestionSummary | NoInteraction]] = {
    "coattention": Coattending,
    "attention": QuestionAttention,
    "summary": QuestionSummary,
    "none": NoInteraction,
}
"""Interactions by recipe name."""
