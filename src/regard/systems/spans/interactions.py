"""Interactions of a passage and its question: the information that each word of the passage gets."""

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
    """A passage that has met its question.

    Attributes:
        context: [B, S, C], what each word of the passage learned.
        passage: A^D, what each word of the passage read in the question, its sentinel last; None if it read nothing.
        question: A^Q, what each word of the question read in the passage, its sentinel last; None likewise.
    """

    context: Tensor
    passage: Attended | None = None
    question: Attended | None = None


class Interaction(nn.Module, abc.ABC):
    """Tells each word of a passage of the question.

    Attributes:
        output_dim: C, width of what it tells.
    """

    output_dim: int

    @abc.abstractmethod
    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        """Return what each word of the passage learns, [B, S, C]."""


class Coattending(Interaction):
    r"""Coattention: each word reads the question, and what the question's words read in the passage.

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
    r"""Attention in one direction: each word reads the question, whose words read nothing.

    .. math:: C^D = Q A^D

    It is coattention without its second half. The paper's ablation "C^D := C^Q" is this read of the question in the way
    of Wang & Jiang 2016: literally C^Q has a column per word of the *question*, which fits no passage.

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
    """No attention: each word is told the same, the question as one vector.

    Args:
        dim: width of this vector.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.output_dim = dim

    def forward(self, passage: Encoded, question: Encoded) -> InteractionOutput:
        return InteractionOutput(question.summary.unsqueeze(1).expand(-1, passage.states.shape[1], -1))


class NoInteraction(Interaction):
    """The passage is read without its question.

    Args:
        dim: width of the words, which nothing here needs.
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
"""By their names in recipes."""
