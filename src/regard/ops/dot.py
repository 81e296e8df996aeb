"""Dot-product attention (Luong, Pham & Manning 2015)."""

from __future__ import annotations

from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.card import Card
from regard.ops.checks import check_impl, check_reading
from regard.ops.inner_product import CONDITIONAL, IMPLEMENTATIONS, KERNELS, dot_product_attention, inner_product

CARD = Card(
    name="dot",
    family="score",
    equation="e = qᵀ k",
    paper="Luong, Pham & Manning 2015, sec. 3.1",
    cost="T·S·D + T·S·Dv",
    op="dot_attention",
    module="Dot",
    implementations=IMPLEMENTATIONS,
    conditional=CONDITIONAL,
    kernels=KERNELS,
)


def dot_score(query: Tensor, key: Tensor) -> Tensor:
    """Compute e_ts = q_t . k_s: [B, H, T, D], [B, H, S, D] -> [B, H, T, S]."""
    return inner_product(query, key, 1.0)


def dot_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None = None,
    *,
    dropout: float = 0.0,
    impl: str | None = None,
) -> Attended:
    r"""Dot-product attention: query and key are vectors of one space, compared by their inner product.

    .. math:: e_{ts} = q_t^\top k_s, \quad a_t = \mathrm{softmax}(e_t), \quad c_t = \sum_s a_{ts}\, \mathrm{value}_s

    Without a scale the energies grow with the width of the vectors; `scaled_dot_attention` divides by its root.

    Args:
        query: [B, H, T, D].
        key: [B, H, S, D].
        value: [B, H, S, Dv].
        mask: what may be attended; None for everything.
        dropout: probability of dropping a weight.
        impl: `"reference"` (the definition), `"sdpa"` (PyTorch's fused kernel), `"banded"` (a window by blocks),
            `"cpu_short"` (a few words on a CPU); on a GPU `"flash_window"` (a window of flash attention),
            `"flex_attention"` (long reads in spans), `"short_reads"` (a few words in one kernel); None for the fastest.

    Returns:
        Attended with context [B, H, T, Dv].

    Luong, Pham & Manning 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1.

    >>> import torch
    >>> query, key = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> dot_attention(query[None, None], key[None, None], key[None, None]).context   # e / (1 + e)
    tensor([[[[0.73, 0.27]]]])
    """
    check_impl("dot", CARD.names, impl)
    check_reading("dot", query, key, value)
    return dot_product_attention("dot", query, key, value, mask, scale=1.0, dropout=dropout, impl=impl)
