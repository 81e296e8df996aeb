"""Softmax attention over inner products through PyTorch's fused kernel; shared by dot, scaled dot, bilinear, cosine."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.softmax import full_precision, masked_softmax, softmax_attention, statistics_dtype


def inner_product(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """scale q.k for every pair, [B, H, T, S]; in float32 for half-precision inputs."""
    statistics = statistics_dtype(query.dtype)
    with full_precision(query):
        return (query.to(statistics) * scale) @ key.to(statistics).mT


def dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, *, scale: float, dropout: float, impl: str | None
) -> Attended:
    """softmax(scale q.k) value, by the definition (`"reference"`) or fused (`"sdpa"`, which None means).

    The context is in the dtype of `value`. The kernel wants one dtype, so it runs in the widest of the three.
    """
    Mask.check(mask)
    if impl == "reference":
        return softmax_attention(inner_product(query, key, scale), value, mask, dropout=dropout)
    return _sdpa(query, key, value, mask, scale=scale, dropout=dropout)


def _sdpa(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, *, scale: float, dropout: float) -> Attended:
    batch, heads, queries, _ = query.shape
    keys = key.shape[2]
    shape = (batch, heads, queries, keys)
    if mask == Mask.causal() and queries == 1:
        mask = None  # the last query sees every key

    def weigh(head: Tensor, row: Tensor) -> Tensor:
        chosen = query.index_select(1, head).index_select(2, row)
        energy = inner_product(chosen, key.index_select(1, head), scale)
        if mask is not None:
            energy = energy.masked_fill(~mask.allowed(shape, heads=head, rows=row, device=energy.device), -torch.inf)
        return masked_softmax(energy)

    if keys == 0:  # nothing for a kernel to do, and not all of them accept it
        return softmax_attention(inner_product(query, key, scale), value)
    dtype, widest = value.dtype, torch.promote_types(torch.promote_types(query.dtype, key.dtype), value.dtype)
    query, key, value = query.to(widest), key.to(widest), value.to(widest)
    if mask == Mask.causal() and queries == keys:
        context = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale, dropout_p=dropout)
    elif mask is None:
        context = F.scaled_dot_product_attention(query, key, value, scale=scale, dropout_p=dropout)
    else:
        allowed = mask.allowed(shape, device=query.device)
        # A row with nothing to attend to is left to attend to everything and then erased: no kernel sees an
        # empty row, and the erased output sends no gradient back.
        empty = ~allowed.any(dim=-1, keepdim=True)
        context = F.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed | empty, scale=scale, dropout_p=dropout
        ).masked_fill(empty, 0.0)
    return Attended(context.to(dtype), weigh, shape)
