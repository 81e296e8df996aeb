"""Bilinear ("general") attention (Luong, Pham & Manning 2015)."""

from __future__ import annotations

from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_reading, check_weight
from regard.ops.inner_product import (
    CONDITIONAL,
    IMPLEMENTATIONS,
    KERNELS,
    Exact,
    dot_product_attention,
    inner_product,
    may_round,
)
from regard.ops.softmax import full_precision, statistics_dtype

CARD = Card(
    name="bilinear",
    family="score",
    equation="e = qᵀ W k",
    paper="Luong, Pham & Manning 2015, sec. 3.1 (general)",
    cost="T·Dq·D + T·S·D + T·S·Dv",
    op="bilinear_attention",
    module="Bilinear",
    implementations=IMPLEMENTATIONS,
    conditional=CONDITIONAL,
    kernels=KERNELS,
)


def bilinear_score(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Compute e_ts = q_tᵀ W k_s: [B, H, T, Dq], [B, H, S, D], [H, Dq, D] -> [B, H, T, S]."""
    return inner_product(_carry(query, weight), key, 1.0)


def bilinear_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None = None,
    *,
    dropout: float = 0.0,
    impl: str | None = None,
) -> Attended:
    r"""Bilinear attention, Luong's "general": a matrix maps the query to the space of the keys.

    .. math:: e_{ts} = q_t^\top W k_s, \quad a_t = \mathrm{softmax}(e_t), \quad c_t = \sum_s a_{ts}\, \mathrm{value}_s

    Args:
        query: [B, H, T, Dq].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        weight: [H, Dq, D], W of each head.
        mask: what may be attended; None for everything.
        dropout: probability of dropping a weight.
        impl: `"reference"` (the definition), `"sdpa"` (PyTorch's fused kernel), `"banded"` (a window by blocks),
            `"cpu_short"` (a few words on a CPU); on a GPU `"flash_window"` (a window of flash attention),
            `"flex_attention"` (long reads in spans), `"short_reads"` (a few words in one kernel); None for the fastest.

    Returns:
        Attended with context [B, H, T, Dv].

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1.

    >>> import torch
    >>> swap = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> bilinear_attention(query[None, None], key[None, None], key[None, None], swap).context
    tensor([[[[0.27, 0.73]]]])
    """
    check_impl("bilinear", CARD.names, impl)
    check_weight("bilinear", "weight", weight)
    wanted = [query.shape[1], query.shape[-1], key.shape[-1]]
    if list(weight.shape) != wanted:
        raise ValueError(f"bilinear: weight must be [H, Dq, D] = {wanted}; got {list(weight.shape)}")
    exact: Exact | None = None
    if may_round(impl, query, key, value):
        carried, exact = _rounded(query, weight), lambda: (_carry(query, weight), key, 1.0)
    else:
        carried = _carry(query, weight)
    check_reading("bilinear", carried, key, value)
    with full_precision(query):  # avoid a second rounding of the mapped query
        return dot_product_attention(
            "bilinear", carried, key, value, mask, scale=1.0, dropout=dropout, impl=impl, exact=exact
        )


def _carry(query: Tensor, weight: Tensor) -> Tensor:
    """Compute Wᵀ q in the dtype of the statistics."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        return _product(query.to(statistics), weight.to(statistics))


def _rounded(query: Tensor, weight: Tensor) -> Tensor:
    """Compute Wᵀ q in half precision, rounded once: half-precision products accumulate in float32."""
    if weight.dtype != query.dtype:
        return _carry(query, weight).to(query.dtype)
    with full_precision(query):
        return _product(query, weight)


def _product(query: Tensor, weight: Tensor) -> Tensor:
    """Compute q W; one product per batch for a single head, where broadcasting would take one per sequence."""
    if len(weight) == 1:
        return (query.flatten(0, 2) @ weight.squeeze(0)).view(*query.shape[:3], -1)
    return query @ weight
