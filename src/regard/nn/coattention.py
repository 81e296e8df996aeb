"""Coattention of a document and a question."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.attention_module import CapturableModule
from regard.nn.checks import mapped
from regard.ops.attended import Attended
from regard.ops.coattention import Coattended, coattention


class Coattention(nn.Module):
    r"""Document and question attend to each other, each with a learned sentinel to attend to nothing.

    .. math:: Q = \tanh(W Q' + b), \quad L = D^\top Q, \quad C^Q = D\,\mathrm{softmax}_D(L), \quad
              C^D = [Q; C^Q]\,\mathrm{softmax}_Q(L^\top)

    The question's sentinel is appended before the map, so it passes through the map like a word.

    Args:
        dim: width l of the words of both sides.

    Parameters: `question_map` W and b, `document_sentinel` d_∅ [l], `question_sentinel` q_∅ [l].
    Shapes: document [B, m, l], question [B, n, l] -> context [B, m, 2l]. It has two reads, captured as two submodules:
    `document_read` and `question_read`.

    Xiong, Zhong & Socher 2017, equations 1 to 3; see `regard.ops.coattention`. The LSTM over [D; C^D] belongs to the
    model.

    >>> from regard import Mask
    >>> attention = Coattention(dim=5)
    >>> out = attention(torch.randn(2, 7, 5), torch.randn(2, 3, 5), Mask.padding([7, 4]), Mask.padding([2, 3]))
    >>> out.context.shape, out.document.weights().shape, out.question.weights().shape
    (torch.Size([2, 7, 10]), torch.Size([2, 7, 4]), torch.Size([2, 3, 8]))
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.question_map = nn.Linear(dim, dim)
        self.document_sentinel = nn.Parameter(torch.empty(dim))
        self.question_sentinel = nn.Parameter(torch.empty(dim))
        self.document_read = _Read()
        self.question_read = _Read()
        nn.init.normal_(self.document_sentinel, std=dim**-0.5)
        nn.init.normal_(self.question_sentinel, std=dim**-0.5)

    def forward(
        self,
        document: Tensor,
        question: Tensor,
        document_mask: Mask | None = None,
        question_mask: Mask | None = None,
    ) -> Coattended:
        """Attend in both directions between document [B, m, l] and question [B, n, l]; masks mark present words."""
        out = coattention(
            document,
            torch.tanh(mapped(self, self.question_map, question, "question words")),
            self.document_sentinel,
            torch.tanh(self.question_map(self.question_sentinel)),
            document_mask,
            question_mask,
        )
        return Coattended(self.document_read(out.document), self.question_read(out.question))


class _Read(CapturableModule):
    """Hook point of one of the two reads."""

    def forward(self, attended: Attended) -> Attended:
        return self.show(attended)
