"""Short additive reads in one kernel each way: in eager mode a read of a sentence takes as long as its launches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.kernels import DTYPES, apply_once, no_kernels, only_once, runnable
from regard.ops.limits import Limits, in_spans

_WHAT = "additive: the kernel short_reads"

LONGEST = 64
"""Queries, and keys, at most: a program holds all pairs of a head."""


def fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> bool:
    """Return whether this is a short read in eager mode; a CUDA graph has no launches to save."""
    if is_recording() or not runnable(query, key, value) or not (query.numel() and value.numel()):
        return False
    return max(query.shape[2], key.shape[2]) <= LONGEST and _limits(query, key, mask) is not None


def refusal(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> str | None:
    """The reason why the kernels cannot read this, as the end of a sentence; None if they can."""
    queries, keys = query.shape[2], key.shape[2]
    if max(queries, keys) > LONGEST:
        return f"has up to {LONGEST} queries and keys; got {queries} and {keys}"
    if _limits(query, key, mask) is None:
        return "has padding and windows, not other masks"
    reasons = (no_kernels(tensor.device, tensor.dtype, DTYPES) for tensor in (query, key, value))
    return next(filter(None, reasons), None)


def attention(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Attended:
    """The same function as `reference.attention` without features and dropout; `fits` or `refusal` comes first."""
    limits = _limits(query, key, mask)
    assert limits is not None
    operands = query, key, value, weight
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in operands):
        context, weights = apply_once(_WHAT, _ShortRead, *operands, limits)
    else:
        from regard.ops.additive.short_reads_call import read

        context, weights = read(_dense(query), _dense(key), _dense(value), weight.contiguous(), limits)
    return Attended.from_weights(context, weights, impl="short_reads")


_EVERYTHING = Limits()


def _limits(query: Tensor, key: Tensor, mask: Mask | None) -> Limits | None:
    """Limits of a mask, made once for the steps and layers that read by it; None where limits cannot say it."""
    if mask is None:
        return _EVERYTHING
    batch, heads, queries, _ = query.shape
    shape, device = (batch, heads, queries, key.shape[2]), query.device

    def make() -> Limits | None:
        return Limits.of(mask, shape, device) if in_spans(mask, shape) else None

    return mask.latest(Limits, (shape, device), make)


class _ShortRead(torch.autograd.Function):
    """Context [B, H, T, Dv] and weights [B, H, T, S] with their gradients."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, weight: Tensor, limits: Limits
    ) -> tuple[Tensor, Tensor]:
        from regard.ops.additive.short_reads_call import read

        query, key, value, weight = _dense(query), _dense(key), _dense(value), weight.contiguous()
        context, weights = read(query, key, value, weight, limits)
        ctx.save_for_backward(query, key, value, weight, weights)
        ctx.set_materialize_grads(False)
        return context, weights

    @staticmethod
    def backward(ctx: Any, upstream: Tensor | None, upstream_weights: Tensor | None) -> tuple[Tensor | None, ...]:
        from regard.ops.additive.short_reads_call import pull

        only_once(_WHAT)
        if upstream is None and upstream_weights is None:
            return None, None, None, None, None
        query, key, value, weight, weights = ctx.saved_tensors
        return *pull(query, key, value, weight, weights, upstream, upstream_weights), None


def _dense(tensor: Tensor) -> Tensor:
    """The tensor with entries that lie side by side, as kernels take them."""
    return tensor if tensor.stride(3) == 1 else tensor.contiguous()
