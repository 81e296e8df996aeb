"""Scaled dot-product attention (Vaswani et al. 2017)."""

from __future__ import annotations

import math

from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_reading
from regard.ops.inner_product import CONDITIONAL, IMPLEMENTATIONS, KERNELS, dot_product_attention, inner_product

CARD = Card(
    name="scaled_dot",
    family="score",
    equation="e = qᵀ k / √D",
    paper="Vaswani et al. 2017, eq. 1",
    cost="T·S·D + T·S·Dv",
    op="scaled_dot_attention",
    module="ScaledDot",
    implementations=IMPLEMENTATIONS,
    conditional=CONDITIONAL,
    kernels=KERNELS,
)


def scaled_dot_score(query: Tensor, key: Tensor, *, scale: float | None = None) -> Tensor:
    """e_ts = q_t . k_s / sqrt(D): [B, H, T, D], [B, H, S, D] -> [B, H, T, S]."""
    return inner_product(query, key, _scale(query, scale))


def scaled_dot_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
    impl: str | None = None,
) -> Attended:
    r"""Scaled dot-product attention: the inner product over the root of the vectors' width.

    .. math:: e_{ts} = q_t^\top k_s / \sqrt{D}, \quad a_t = \mathrm{softmax}(e_t), \quad
              c_t = \sum_s a_{ts}\, \mathrm{value}_s

    D is the width of one head's keys. It is not the length of the input, as one of the notes has it, and the scale
    does not average the weights: it keeps the energies of random vectors at variance 1, whatever D.

    Args:
        query: [B, H, T, D].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        mask: what may be attended; None for everything.
        scale: what to multiply the inner products with; None for 1 / sqrt(D).
        dropout: probability of dropping a weight.
        impl: `"reference"` (the definition), `"sdpa"` (PyTorch's fused kernel), `"banded"` (a window by blocks),
            `"cpu_short"` (a few words on a CPU); on a GPU `"flash_window"` (a window of flash attention),
            `"flex_attention"` (long reads in spans), `"short_reads"` (a few words in one kernel); None for the fastest.

    Returns:
        Attended with context [B, H, T, Dv].

    Vaswani et al. 2017, "Attention Is All You Need", equation 1.

    >>> import torch
    >>> query, key = torch.full((1, 1, 1, 64), 1.0), torch.tensor([112 / 64, 96 / 64])[None, None, :, None]
    >>> scaled_dot_attention(query, key.expand(1, 1, 2, 64), key).weights()   # 112 and 96, over √64
    tensor([[[[0.88, 0.12]]]])
    """
    check_impl("scaled_dot", CARD.names, impl)
    check_reading("scaled_dot", query, key, value)
    return dot_product_attention(
        "scaled_dot", query, key, value, mask, scale=_scale(query, scale), dropout=dropout, impl=impl
    )


def _scale(query: Tensor, scale: float | None) -> float:
    return 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
