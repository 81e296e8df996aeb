"""Short additive reads in one kernel per pass: in eager mode, launch overhead dominates reads of a sentence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.cuda_capture import is_recording
from regard.masks import Mask
from regard.ops.additive import reference
from regard.ops.attended import Attended
from regard.ops.kernels import DTYPES, apply_first_order, kernel_obstacle, kernels_supported
from regard.ops.limits import MaskLimits, expressible_as_limits

_WHAT = "additive: the kernel short_reads"

LONGEST = 64
"""Queries, and keys, at most: a program holds all pairs of a head."""


def fits(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> bool:
    """Return whether this is a short read in eager mode; in a CUDA graph there is no launch overhead to save."""
    if is_recording() or torch._C._are_functorch_transforms_active():  # which cannot see into a kernel
        return False
    if not kernels_supported(query, key, value) or not (query.numel() and value.numel()):
        return False
    return max(query.shape[2], key.shape[2]) <= LONGEST and _limits(query, key, mask) is not None


def refusal(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> str | None:
    """Return the reason why the kernels do not support a call, as the end of a sentence; None if they do."""
    queries, keys = query.shape[2], key.shape[2]
    if max(queries, keys) > LONGEST:
        return f"has up to {LONGEST} queries and keys; got {queries} and {keys}"
    if _limits(query, key, mask) is None:
        return "has padding and windows, not other masks"
    reasons = (kernel_obstacle(tensor.device, tensor.dtype, DTYPES) for tensor in (query, key, value))
    return next(filter(None, reasons), None)


def attention(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None) -> Attended:
    """Compute `reference.attention` without features and dropout; call `fits` or `refusal` first."""
    limits = _limits(query, key, mask)
    assert limits is not None
    operands = query, key, value, weight
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in operands):
        context, weights = apply_first_order(_WHAT, _ShortRead, *operands, mask, limits)
    else:
        from regard.ops.additive.short_reads_call import read

        context, weights = read(_dense(query), _dense(key), _dense(value), weight.contiguous(), limits)
    return Attended.from_weights(context, weights, impl="short_reads")


_EVERYTHING = MaskLimits()


def _limits(query: Tensor, key: Tensor, mask: Mask | None) -> MaskLimits | None:
    """Return the cached limits of a mask, shared by steps and layers; None if limits cannot express the mask."""
    if mask is None:
        return _EVERYTHING
    batch, heads, queries, _ = query.shape
    shape, device = (batch, heads, queries, key.shape[2]), query.device

    def make() -> MaskLimits | None:
        return MaskLimits.of(mask, shape, device) if expressible_as_limits(mask, shape) else None

    return mask.latest(MaskLimits, (shape, device), make)


class _ShortRead(torch.autograd.Function):
    """Context [B, H, T, Dv] and weights [B, H, T, S] with their gradients; those of the gradients by the definition."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None, limits: MaskLimits
    ) -> tuple[Tensor, Tensor]:
        from regard.ops.additive.short_reads_call import read

        context, weights = read(_dense(query), _dense(key), _dense(value), weight.contiguous(), limits)
        ctx.save_for_backward(query, key, value, weight, weights)
        ctx.set_materialize_grads(False)
        ctx.mask = mask
        return context, weights

    @staticmethod
    def backward(ctx: Any, upstream: Tensor | None, upstream_weights: Tensor | None) -> tuple[Tensor | None, ...]:
        from regard.ops.additive.short_reads_call import pull

        if upstream is None and upstream_weights is None:
            return (None,) * 6
        query, key, value, weight, weights = ctx.saved_tensors
        if torch.is_grad_enabled():  # double backward
            return *_by_definition((query, key, value, weight), ctx.mask, upstream, upstream_weights), None, None
        dense = _dense(query), _dense(key), _dense(value), weight.contiguous()
        return *pull(*dense, weights, upstream, upstream_weights), None, None


def _by_definition(
    operands: tuple[Tensor, ...], mask: Mask | None, upstream: Tensor | None, upstream_weights: Tensor | None
) -> tuple[Tensor | None, ...]:
    """Compute differentiable gradients of query, key, value and weight, for double backward."""
    query, key, value, weight = operands
    read = reference.attention(query, key, value, weight, mask, features=None, feature_weight=None, dropout=0.0)
    pairs = [(read.context, upstream), (read.weights(), upstream_weights)]
    outputs, gradients = zip(*((output, given) for output, given in pairs if given is not None), strict=True)
    wanted = [one for one in operands if one.requires_grad]
    found = iter(torch.autograd.grad(outputs, wanted, gradients, create_graph=True, allow_unused=True))
    return tuple(next(found) if one.requires_grad else None for one in operands)


def _dense(tensor: Tensor) -> Tensor:
    """Return the tensor with contiguous entries, as the kernels need them."""
    return tensor if tensor.stride(3) == 1 else tensor.contiguous()
