"""Which reads are short, and their attention."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask, Shape
from regard.ops.custom_gradients import apply_once
from regard.ops.kernels import runnable
from regard.ops.sdpa_backends import capability
from regard.ops.short_reads.fused import WHAT, Fused
from regard.ops.short_reads.limits import Limits

_LONGEST, _WIDEST = 64, 256
_LONGEST_IN_FLOAT32, _WIDEST_IN_FLOAT32 = 32, 64  # where products are not the tensor cores'
_CAPABILITY = (9, 0)
_SHARED = 160 << 10  # bytes of a multiprocessor that the widest heads need


def short_fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None, shape: Shape) -> bool:
    """Whether this is a short read that is recorded: called from Python, it takes longer to launch than others."""
    if not is_recording() or not query.dtype == key.dtype == value.dtype or not runnable(query, key, value):
        return False
    half = query.dtype != torch.float32
    longest, widest = (_LONGEST, _WIDEST) if half else (_LONGEST_IN_FLOAT32, _WIDEST_IN_FLOAT32)
    if max(shape[2:]) > longest or max(query.shape[3], value.shape[3]) > widest:
        return False
    return _suits(query.device) and (mask is None or mask.spans(shape).rest is None)


def short_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Mask | None,
    shape: Shape,
    *,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(scale q.k) value of up to 64 queries and keys, [B, H, T, Dv]; `short_fits` says when it is fastest."""
    limits = Limits() if mask is None else Limits.of(mask, shape, query.device)
    found: Tensor = apply_once(WHAT, Fused, query, key, value, limits, scale, dropout)
    return found


@functools.cache
def _suits(device: torch.device) -> bool:
    """Whether a GPU is of those that were measured; smaller ones of their generation do not hold the widest heads."""
    shared = torch.cuda.get_device_properties(device).shared_memory_per_multiprocessor
    return capability(device) >= _CAPABILITY and shared >= _SHARED
