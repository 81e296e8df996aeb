"""Launches of the kernels of short additive reads."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import triton
from torch import Tensor

from regard.ops.additive.kernels import short_reads as kernels
from regard.ops.limits import MaskLimits

_FAR = 1 << 20  # beyond every key
_ROWS, _UNITS = kernels.ROWS.value, kernels.UNITS.value


def read(query: Tensor, key: Tensor, value: Tensor, weight: Tensor, limits: MaskLimits) -> tuple[Tensor, Tensor]:
    """Return the context [B, H, T, Dv] in the dtype of `value`, and the weights [B, H, T, S] in float32."""
    batch, heads, queries, width = query.shape
    keys, value_width = value.shape[2:]
    context = value.new_empty(batch, heads, queries, value_width)
    weights = torch.empty(batch, heads, queries, keys, dtype=torch.float32, device=query.device)
    after = -_FAR if limits.after is None else limits.after
    until = _FAR if limits.until is None else limits.until
    if weights.numel():
        with _on_device(query):
            kernels.read[batch * heads, -(-queries // _ROWS)](
                query, *query.stride()[:3], key, *key.stride()[:3], value, *value.stride()[:3], weight, context,
                weights, weights if limits.lengths is None else limits.lengths.contiguous(),
                heads, queries, keys, width, value_width, after, until,
                S=_side(keys), LENGTHS=limits.lengths is not None,
            )  # fmt: skip
    return context, weights


def pull(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, weights: Tensor,
    upstream: Tensor | None, upstream_weights: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of query, key, value and weight."""
    batch, heads, queries, width = query.shape
    keys, value_width = value.shape[2:]
    if upstream is None:
        upstream = value.new_zeros(batch, heads, queries, value_width)
    grads = [torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device) for tensor in (query, key, value)]
    grad_weight = torch.empty(batch, heads, width, dtype=torch.float32, device=query.device)
    if weights.numel():
        with _on_device(query):
            kernels.pull[batch * heads, -(-max(width, value_width) // _UNITS)](
                query, *query.stride()[:3], key, *key.stride()[:3], value, *value.stride()[:3], weight, weights,
                upstream.contiguous(), weights if upstream_weights is None else upstream_weights.contiguous(),
                *grads, grad_weight, heads, queries, keys, width, value_width,
                T=_side(queries), S=_side(keys), WEIGHTS=upstream_weights is not None,
            )  # fmt: skip
    else:
        for grad in (*grads, grad_weight):
            grad.zero_()
    return grads[0], grads[1], grads[2], grad_weight.sum(0).to(weight.dtype)


def _on_device(tensor: Tensor) -> AbstractContextManager[Any]:
    """Context in which kernels start on the device of a tensor; nothing where that is the current one."""
    if not tensor.is_cuda or tensor.get_device() == torch.cuda.current_device():
        return _HERE
    return torch.cuda.device_of(tensor)


_HERE = nullcontext()


def _side(size: int) -> int:
    """Side of a tile: a power of two that tensor cores take."""
    side: int = triton.next_power_of_2(size)
    return max(16, side)
