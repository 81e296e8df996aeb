"""Coattention (Xiong, Zhong & Socher 2017)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import pair_mask, token_positions
from regard.ops.softmax import masked_softmax, statistics_dtype

CARD = Card(
    name="coattention",
    family="whole matrix",
    equation="L = Dᵀ Q,  C^Q = D softmax_D(L),  C^D = [Q; C^Q] softmax_Q(Lᵀ)",
    paper="Xiong, Zhong & Socher 2017, eq. 1-3",
    cost="4·m·n·l",
    op="coattention",
    module="Coattention",
)


class Coattended(NamedTuple):
    """Result of coattention: two reads, the last key of each being the other side's sentinel.

    Attributes:
        document: each document word reads the question and what the question read: context C^D [B, m, 2l],
            weights A^D [B, m, n + 1].
        question: each question word reads the document: context C^Q [B, n, l], weights A^Q [B, n, m + 1].
    """

    document: Attended
    question: Attended

    @property
    def context(self) -> Tensor:
        """Context C^D of the document words, [B, m, 2l]; zero at padding."""
        return self.document.context


def coattention(
    document: Tensor,
    question: Tensor,
    document_sentinel: Tensor,
    question_sentinel: Tensor,
    document_mask: Mask | None = None,
    question_mask: Mask | None = None,
) -> Coattended:
    r"""Document and question attend to each other through one matrix of affinities.

    .. math:: L = D^\top Q, \quad A^Q = \mathrm{softmax}_D(L), \quad A^D = \mathrm{softmax}_Q(L^\top), \quad
              C^Q = D A^Q, \quad C^D = [Q; C^Q]\, A^D

    D and Q hold the words as columns, followed by a sentinel that a word attends to if nothing on the other side is
    relevant. A^Q is normalised over the *document*, one distribution for each question word; A^D over
    the *question*, one for each document word. So say the paper's words, "across the document for each word in the
    question"; its "row-wise" can be read either way, and the shapes fit both.

    Args:
        document: [B, m, l].
        question: [B, n, l], after its map: `regard.nn.Coattention` holds it.
        document_sentinel: [l].
        question_sentinel: [l].
        document_mask: which document positions are there, usually `Mask.padding(lengths)`; None for all.
        question_mask: likewise for the question.

    Returns:
        Coattended; its `context` is [B, m, 2l], without the sentinel's column. A padded word, of either side, has zero
        weights and a zero context. An empty question leaves its sentinel to read, so the context is not zero there.

    Raises:
        ValueError: shapes that do not fit.

    Xiong, Zhong & Socher 2017, "Dynamic Coattention Networks for Question Answering", equations 1 to 3. The paper puts
    a sentinel at each example's true end. Here it follows the padding and the mask allows it: softmax and sum do not
    depend on the order of keys, so the result is the same.

    >>> document, question = torch.tensor([[[1.0], [0.0]]]), torch.tensor([[[2.0]]])
    >>> out = coattention(document, question, torch.zeros(1), torch.zeros(1))
    >>> out.document.weights()                          # affinities 2 and 0, against a sentinel of 0
    tensor([[[0.88, 0.12],
             [0.50, 0.50]]])
    """
    _check(document, question, document_sentinel, question_sentinel)
    # Sentinels are always present: append True to each mask.
    here = F.pad(token_positions(document, document_mask), (0, 1), value=True)  # [b, m + 1]
    there = F.pad(token_positions(question, question_mask), (0, 1), value=True)  # [b, n + 1]
    d, q = _closed(document, document_sentinel), _closed(question, question_sentinel)
    affinity = (d @ q.mT).unsqueeze(1)  # [b, 1, m + 1, n + 1]
    question_weights = masked_softmax(affinity.mT, pair_mask(there, here))  # [b, 1, n + 1, m + 1]
    document_weights = masked_softmax(affinity, pair_mask(here, there))  # [b, 1, m + 1, n + 1]
    read = question_weights.squeeze(1) @ d  # C^Q, [b, n + 1, l]
    brought = document_weights.squeeze(1) @ torch.cat((q, read), dim=2)  # C^D, [b, m + 1, 2l]
    return Coattended(
        _without_sentinel(brought.to(document.dtype), document_weights),
        _without_sentinel(read.to(document.dtype), question_weights),
    )


def _closed(words: Tensor, sentinel: Tensor) -> Tensor:
    """Append the sentinel to the words: [B, L + 1, l], in the dtype of the statistics."""
    last = sentinel.to(words.dtype).expand(words.shape[0], 1, -1)
    return torch.cat((words, last), dim=1).to(statistics_dtype(words.dtype))


def _without_sentinel(context: Tensor, weights: Tensor) -> Attended:
    """Return a read without its last query, the sentinel."""
    return Attended.from_weights(context[:, :-1], weights[:, :, :-1], has_heads=False)


def _check(document: Tensor, question: Tensor, document_sentinel: Tensor, question_sentinel: Tensor) -> None:
    if (
        document.dim() != 3
        or question.dim() != 3
        or document.shape[0] != question.shape[0]
        or document.shape[2] != question.shape[2]
    ):
        raise ValueError(
            "coattention: document [B, m, l] and question [B, n, l] must share B and l; "
            f"got {list(document.shape)} and {list(question.shape)}"
        )
    for name, sentinel in (("document_sentinel", document_sentinel), ("question_sentinel", question_sentinel)):
        if sentinel.shape != document.shape[2:]:
            raise ValueError(
                f"coattention: {name} must be [l] = {list(document.shape[2:])}; got {list(sentinel.shape)}"
            )
