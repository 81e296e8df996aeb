"""Attention over short sequences by a single kernel: conditions and mask."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask, Shape
from regard.ops.attended import Attended
from regard.ops.inner_product.read import Implementation, ReadArguments
from regard.ops.inner_product.sdpa import capability
from regard.ops.kernels import DTYPES, apply_first_order, kernel_obstacle, kernels_supported
from regard.ops.limits import MaskLimits, expressible_as_limits

_LONGEST, _WIDEST = 64, 256
_LONGEST_IN_FLOAT32, _WIDEST_IN_FLOAT32 = 32, 64  # where products are not the tensor cores'
_CAPABILITY = (9, 0)
_SHARED = 160 << 10  # bytes of a multiprocessor that the widest heads need


def short_fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape) -> bool:
    """Return whether this is a short read in a CUDA graph; in eager mode its launch takes longer than others."""
    if not is_recording() or not query.dtype == key.dtype == value.dtype or not kernels_supported(query, key, value):
        return False
    return _too_large(query, value, shape) is None and _suits(query.device) and expressible_as_limits(mask, shape)


def short_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape, *, scale: float, dropout: float = 0.0
) -> Tensor:
    """Compute softmax(scale q.k) value for up to 64 queries and keys, [B, H, T, Dv]; see `short_fits`."""
    from regard.ops.inner_product.kernels import WHAT, ShortRead

    limits = MaskLimits() if mask is None else MaskLimits.of(mask, shape, query.device)
    found: Tensor = apply_first_order(WHAT, ShortRead, query, key, value, limits, scale, dropout)
    return found


def offer(read: ReadArguments) -> Attended | None:
    """Attend for short reads in a CUDA graph."""
    return attend(read) if short_fits(read.query, read.key, read.value, read.mask, read.shape) else None


def refusal(read: ReadArguments) -> str | None:
    """Return the obstacle: it needs Triton, few queries and keys, and a mask of spans."""
    reason = kernel_obstacle(read.query.device, read.query.dtype, DTYPES) or _too_large(
        read.query, read.value, read.shape
    )
    if reason is None and not expressible_as_limits(read.mask, read.shape):
        reason = "has padding and windows, not other masks"
    return reason


def attend(read: ReadArguments) -> Attended:
    """Attend with all pairs of a head in one program."""
    context = short_attention(
        read.query, read.key, read.value, read.mask, read.shape, scale=read.scale, dropout=read.dropout
    )
    return read.attended(context, SHORT_READS.name)


SHORT_READS = Implementation("short_reads", offer, refusal, attend)


def _too_large(query: Tensor, value: Tensor, shape: Shape) -> str | None:
    half = query.dtype != torch.float32
    longest, widest = (_LONGEST, _WIDEST) if half else (_LONGEST_IN_FLOAT32, _WIDEST_IN_FLOAT32)
    if max(shape[2:]) > longest or max(query.shape[3], value.shape[3]) > widest:
        return f"has up to {longest} queries and keys of width {widest} in {query.dtype}; got {list(shape)}"
    return None


@functools.cache
def _suits(device: torch.device) -> bool:
    """Return whether a GPU is one of those measured; smaller ones cannot hold the widest heads."""
    shared = torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
    return capability(device) >= _CAPABILITY and shared >= _SHARED
