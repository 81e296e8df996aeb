"""Attention over attention (Cui et al. 2017)."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import pair_mask, token_positions
from regard.ops.softmax import full_precision, masked_softmax, statistics_dtype

CARD = Card(
    name="attention_over_attention",
    family="whole matrix",
    equation="s = Σ_t β̄_t α(t),  α = softmax_D(M),  β̄ = mean_D softmax_Q(M)",
    paper="Cui et al. 2017, sec. 3",
    cost="D·Q·C + D·Q + D·C",
    op="attention_over_attention",
    module="AttentionOverAttention",
)


class AttendedOver(NamedTuple):
    """Result of attention over attention: a distribution over the document, and its factors.

    Attributes:
        attended: the read of the document with s: context Σ_i s_i h_i [B, 1, C], `weights()` [B, 1, D].
        weights: s [B, D], a distribution over the document's positions.
        alpha: α [B, Q, D], attention of each query word to the document.
        beta: β [B, D, Q], attention of each document word to the query.
        importance: β̄ [B, Q], importance of each query word.
    """

    attended: Attended
    weights: Tensor
    alpha: Tensor
    beta: Tensor
    importance: Tensor


def attention_over_attention(
    document: Tensor, query: Tensor, document_mask: Mask | None = None, query_mask: Mask | None = None
) -> AttendedOver:
    r"""Attention of query words to the document, averaged with the document's attention to the query as weights.

    .. math:: M = H_D H_Q^\top, \quad \alpha(t) = \mathrm{softmax}_i(M_{it}), \quad
              \beta(i) = \mathrm{softmax}_t(M_{it}), \quad \bar\beta = \frac{1}{|D|} \sum_i \beta(i), \quad
              s = \sum_t \bar\beta_t\, \alpha(t)

    Both softmaxes and the mean exclude padding: |D| is the true length.

    Args:
        document: [B, D, C].
        query: [B, Q, C].
        document_mask: which document positions are there, usually `Mask.padding(lengths)`; None for all.
        query_mask: likewise for the query.

    Returns:
        AttendedOver; `weights` s [B, D] sums to one, in float32 for half-precision inputs. With an empty document
        or an empty query everything is zero. `pointer_sum` makes word probabilities of s.

    Raises:
        ValueError: shapes that do not fit.

    Cui et al. 2017, "Attention-over-Attention Neural Networks for Reading Comprehension", section 3. The notes stop
    at M; s is the mechanism.

    >>> import torch
    >>> document, query = torch.tensor([[[0.0], [1.0]]]), torch.tensor([[[0.0], [1.0]]])
    >>> out = attention_over_attention(document, query)
    >>> out.importance                                  # M = [[0, 0], [0, 1]]: β is (1/2, 1/2) and (0.27, 0.73)
    tensor([[0.38, 0.62]])
    >>> out.weights                                     # 0.38 (1/2, 1/2) + 0.62 (0.27, 0.73)
    tensor([[0.36, 0.64]])
    """
    _check(document, query)
    statistics = statistics_dtype(document.dtype)
    here, there = token_positions(document, document_mask), token_positions(query, query_mask)
    states = document.to(statistics)
    with full_precision(document):
        matching = (states @ query.to(statistics).mT).unsqueeze(1)  # M, [b, 1, d, q]
        alpha = masked_softmax(matching.mT, pair_mask(there, here)).squeeze(1)
        beta = masked_softmax(matching, pair_mask(here, there)).squeeze(1)
        importance = beta.sum(dim=1) / here.sum(dim=1, keepdim=True).clamp(min=1)
        weights = (importance.unsqueeze(1) @ alpha).squeeze(1)
        context = (weights.unsqueeze(1) @ states).to(document.dtype)
    attended = Attended.from_weights(context, weights[:, None, None], has_heads=False)
    return AttendedOver(attended, weights, alpha, beta, importance)


def _check(document: Tensor, query: Tensor) -> None:
    if (
        document.dim() != 3
        or query.dim() != 3
        or document.shape[0] != query.shape[0]
        or document.shape[2] != query.shape[2]
    ):
        raise ValueError(
            "attention_over_attention: document [B, D, C] and query [B, Q, C] must share B and C; "
            f"got {list(document.shape)} and {list(query.shape)}"
        )
