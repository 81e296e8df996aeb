"""Masked softmax, and the weighted sum that all scores share.

    a_ts = exp(e_ts) / sum_{s' allowed} exp(e_ts')      c_t = sum_s a_ts value_s

A fully masked row has zero weights, zero context and zero gradients, never NaN.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.cuda_capture import is_recording
from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.card import Card

CARD = Card(
    name="softmax",
    family="aligner",
    equation="a_s = exp(e_s) / Σ_s' exp(e_s')",
    paper="Bahdanau, Cho & Bengio 2015, eq. 6",
    cost="T·S",
    op="masked_softmax",
    module="Softmax",
)


def statistics_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of softmax statistics: float32 for half precision, else that of the input."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def to_statistics_dtype(tensor: Tensor) -> Tensor:
    """Convert a tensor to the dtype of the statistics; returns the tensor itself if it has that dtype.

    >>> to_statistics_dtype(torch.ones(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def full_precision(tensor: Tensor) -> AbstractContextManager[None]:
    """Context that disables autocast, which would round the operands of products to half precision.

    Tensors in half precision stay so; convert them with `to_statistics_dtype`.

    >>> ones = torch.ones(2, 2)
    >>> with torch.autocast("cpu", torch.bfloat16):
    ...     rounded = ones @ ones
    ...     with full_precision(ones):
    ...         kept = ones @ ones
    >>> rounded.dtype, kept.dtype
    (torch.bfloat16, torch.float32)
    """
    if tensor.is_meta:  # which autocast does not know
        return _NOTHING
    kind = "cuda" if tensor.is_cuda else tensor.device.type
    return torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else _NOTHING


_NOTHING = nullcontext()


def masked_softmax(energy: Tensor, mask: Mask | None = None) -> Tensor:
    """Softmax over the allowed keys.

    An energy of -inf also masks a key. Statistics are in float32 for any input.

    Args:
        energy: [B, H, T, S].
        mask: what may be attended; None for everything.

    Returns:
        Weights [B, H, T, S], in float32 for half-precision energies.

    >>> energy = torch.tensor([0.0, 0.0, 9.0]).expand(1, 1, 2, 3)
    >>> masked_softmax(energy, Mask.of(torch.tensor([[True, True, False], [False, False, False]])))[0, 0]
    tensor([[0.5000, 0.5000, 0.0000],
            [0.0000, 0.0000, 0.0000]])
    """
    energy = restrict(energy, mask)
    if energy.shape[-1] == 0:
        return energy
    nowhere = energy.detach().amax(dim=-1, keepdim=True) == -torch.inf
    return energy.masked_fill(nowhere, 0.0).softmax(dim=-1).masked_fill(nowhere, 0.0)


def restrict(energy: Tensor, mask: Mask | None) -> Tensor:
    """Return energies in the dtype of the statistics, -inf at masked keys."""
    Mask.check(mask)
    energy = to_statistics_dtype(energy)
    if mask is None:
        return energy
    batch, heads, queries, keys = energy.shape
    return energy.masked_fill(mask.forbidden((batch, heads, queries, keys), device=energy.device), -torch.inf)


def softmax_attention(energy: Tensor, value: Tensor, mask: Mask | None = None, *, dropout: float = 0.0) -> Attended:
    """Sum `value` weighted by the softmax of `energy`: the second half of every softmax attention.

    Args:
        energy: [B, H, T, S].
        value: [B, H or 1, S, Dv].
        mask: what may be attended.
        dropout: probability of dropping a weight in the weighted sum; `weights()` returns them without dropout.

    Returns:
        Attended with context [B, H, T, Dv] in the dtype of `value`.

    >>> out = softmax_attention(torch.zeros(1, 1, 1, 2), torch.tensor([[1.0], [3.0]])[None, None])
    >>> out.context.item()
    2.0
    """
    return read(masked_softmax(energy, mask), value, dropout)


def finite_softmax(energy: Tensor, mask: Mask | None, shape: Shape) -> Tensor:
    """Compute `masked_softmax` of finite energies with few operations, in place.

    With finite energies only the mask can empty a row, and many masks are known not to.

    >>> finite_softmax(torch.zeros(1, 1, 1, 3), Mask.padding([2]), (1, 1, 1, 3))
    tensor([[[[0.5000, 0.5000, 0.0000]]]])
    """
    if mask is None:
        return energy.softmax(dim=-1)
    forbidden, empty = cached_forbidden_pairs(mask, shape, energy.device)
    weights = energy.masked_fill_(forbidden, -torch.inf).softmax(dim=-1)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


def forbidden_pairs(mask: Mask, shape: Shape, device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Return masked pairs, and fully masked rows; None if the mask is known to have none.

    Fully masked rows are unmasked here, and the caller zeroes their results: kernels then see no empty row, and no
    gradient flows back through zeroed results.
    """
    forbidden = mask.forbidden(shape, device=device)
    if mask.serves_every_query(shape):
        return forbidden, None
    empty = forbidden.all(dim=-1, keepdim=True)
    return forbidden & ~empty, empty


def cached_forbidden_pairs(mask: Mask, shape: Shape, device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Return `forbidden_pairs`, cached for all layers and steps that use the same mask.

    Nothing is cached during the capture of a CUDA graph, which owns its tensors, nor for large masks, whose memory
    outweighs the saved operation.
    """
    if is_recording() or shape[0] * shape[2] * shape[3] > HELD_PAIRS:
        return forbidden_pairs(mask, shape, device)
    return mask.latest(forbidden_pairs, (shape, device), lambda: forbidden_pairs(mask, shape, device))


HELD_PAIRS = 1 << 22
"""Of a mask that is kept as a tensor, at most."""


def read(weights: Tensor, value: Tensor, dropout: float, impl: str = "reference") -> Attended:
    """Sum `value` with weights [B, H, T, S] of the implementation `impl`."""
    given = F.dropout(weights, dropout) if dropout else weights
    return Attended.from_weights(weigh_values(given, value), weights, impl=impl)


def weigh_values(weights: Tensor, value: Tensor) -> Tensor:
    """Compute c_t = sum_s a_ts value_s: [B, H, T, S], [B, H or 1, S, Dv] -> [B, H, T, Dv] in the dtype of `value`."""
    with full_precision(value):
        wide = value if value.dtype == weights.dtype else value.to(weights.dtype)
        if weights.shape[1] == 1 == value.shape[1]:  # in half as many operations
            context = torch.bmm(weights.squeeze(1), wide.squeeze(1)).unsqueeze(1)
        else:
            context = weights @ wide
        return context if wide is value else context.to(value.dtype)
