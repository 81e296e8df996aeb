"""Structured self-attention (Lin et al. 2017)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.softmax import full_precision, softmax_attention, statistics_dtype

CARD = Card(
    name="structured",
    family="whole matrix",
    equation="A = softmax(W₂ tanh(W₁ Hᵀ)),  M = A H",
    paper="Lin et al. 2017, eq. 6-7",
    cost="S·A·C + r·S·A + r·S·C",
    op="structured_attention",
    module="StructuredSelfAttention",
)


def structured_attention(
    hidden: Tensor,
    inner: Tensor,
    outer: Tensor,
    mask: Mask | None = None,
    *,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> Attended:
    r"""Read a sentence r times at once, without a query: each hop has learned what to look for.

    .. math:: A = \mathrm{softmax}\bigl(W_2 \tanh(W_1 H^\top)\bigr), \quad M = A H

    The softmax runs over the tokens, once for each hop. It is additive attention with r heads whose query is zero
    and whose hidden layer is shared. Lin has no biases. With one hop and a bias it is the attention of Yang et al.
    2016, "Hierarchical Attention Networks for Document Classification", equations 5 to 7 and 8 to 10.

    Args:
        hidden: [B, S, C], H: the states of a sentence, keys and values alike.
        inner: [A, C], W₁ (the paper's W_s1).
        outer: [r, A], W₂ (the paper's W_s2): one row a hop.
        mask: what may be attended; None for everything.
        bias: [A], added before the tanh; None for none.
        dropout: probability of dropping a weight on its way to the context; `weights()` shows them undropped.

    Returns:
        Attended with context [B, r, C] (M) and weights [B, r, S] (A).

    Raises:
        ValueError: shapes that do not fit.

    Lin et al. 2017, "A Structured Self-attentive Sentence Embedding", section 2.1, equations 6 and 7.

    >>> hidden = torch.tensor([[[0.0], [1.0]]])
    >>> out = structured_attention(hidden, torch.tensor([[1.0]]), torch.tensor([[0.0], [1.0]]))
    >>> out.weights()                                   # tanh 0 = 0, tanh 1 = 0.76; the first hop does not care
    tensor([[[0.50, 0.50],
             [0.32, 0.68]]])
    """
    _check(hidden, inner, outer, bias)
    statistics = statistics_dtype(hidden.dtype)
    with full_precision(hidden):
        inside = torch.tanh(F.linear(hidden.to(statistics), inner.to(statistics), _cast(bias, statistics)))
        energy = inside @ outer.to(statistics).T  # [b, s, r]
    # The hops are the queries of one head: energies [b, 1, r, s], values [b, 1, s, C].
    attended = softmax_attention(energy.mT.unsqueeze(1), hidden.unsqueeze(1), mask, dropout=dropout)
    return attended.replace(context=attended.context.squeeze(1), has_heads=False, state=None)


def frobenius_penalty(weights: Tensor) -> Tensor:
    r"""Distance of the hops from one-hot weights on different tokens.

    .. math:: P = \lVert A A^\top - I \rVert_F^2

    The diagonal of A Aᵀ is Σ_s a_s², which is 1 for a one-hot row only, and not for every row as the notes have it:
    so the penalty pushes the hops apart *and* sharpens each. It is 0 exactly when the rows are one-hot on different
    tokens, and at least r - S when there are more hops than tokens. A sentence with nothing to attend to has the
    constant r.

    Args:
        weights: [B, r, S], A.

    Returns:
        [B], one squared norm a sentence; average it over the batch. In float32 for half-precision weights.

    Lin et al. 2017, section 2.2, equation 8.

    >>> frobenius_penalty(torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5]]]))
    tensor([0., 2., 1.])
    """
    if weights.dim() != 3:
        raise ValueError(f"structured: the penalty takes weights [B, r, S]; got shape {list(weights.shape)}")
    weights = weights.to(statistics_dtype(weights.dtype))
    with full_precision(weights):
        overlap = weights @ weights.mT  # [b, r, r]
    identity = torch.eye(weights.shape[1], dtype=weights.dtype, device=weights.device)
    return (overlap - identity).square().sum(dim=(1, 2))


def _cast(bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    return None if bias is None else bias.to(dtype)


def _check(hidden: Tensor, inner: Tensor, outer: Tensor, bias: Tensor | None) -> None:
    if hidden.dim() != 3:
        raise ValueError(f"structured: hidden must be [B, S, C]; got shape {list(hidden.shape)}")
    if inner.dim() != 2 or inner.shape[1] != hidden.shape[2]:
        raise ValueError(
            f"structured: inner must be [A, C] with the C of hidden {list(hidden.shape)}; got {list(inner.shape)}"
        )
    if outer.dim() != 2 or outer.shape[1] != inner.shape[0]:
        raise ValueError(
            f"structured: outer must be [r, A] with the A of inner {list(inner.shape)}; got {list(outer.shape)}"
        )
    if bias is not None and bias.shape != inner.shape[:1]:
        raise ValueError(
            f"structured: bias must be [A] with the A of inner {list(inner.shape)}; got {list(bias.shape)}"
        )
