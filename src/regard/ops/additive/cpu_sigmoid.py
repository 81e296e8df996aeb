"""Additive attention with sigmoids, for short reads on a CPU, where σ takes a third to a fifth of the time of tanh.

    vᵀ tanh(z) = 2 vᵀ σ(2z) - Σ v

The softmax is invariant to a constant that is equal for all keys, so Σ v is omitted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.attended import Attended
from regard.ops.softmax import finite_softmax, full_precision, read
from regard.ops.weights import sizes

_TINY = 1 << 14
"""Elements of [B, H, T, S, A] up to which a backward pass by hand takes longer to call than it saves."""


def relative_score(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Compute vᵀ tanh(q_t + k_s) up to a constant: [B, H, T, A], [B, H, S, A], [H, A] -> [B, H, T, S].

    >>> energy = relative_score(torch.zeros(1, 1, 1, 2), torch.tensor([0.0, 1.0]).view(1, 1, 2, 1), torch.ones(1, 2))
    >>> energy - energy.min()                                                                         # 0 and 2 tanh 1
    tensor([[[[0.00, 1.52]]]])
    """
    if not (torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or weight.requires_grad)):
        return _energy(_hidden(query, key), weight)
    if query.numel() * key.shape[2] <= _TINY:
        return _differentiable(query, key, weight)
    try:
        apply: Callable[..., Tensor] = _Energy.apply
        energy = apply(query, key, weight)
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        return _differentiable(query, key, weight)  # torch.func does not support this hand-written backward pass
    return energy


class _Energy(torch.autograd.Function):
    """Hand-written gradients: autograd would make twice as many passes over the hidden layer."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
        hidden = _hidden(query, key)
        ctx.save_for_backward(query, key, weight, hidden)
        return _energy(hidden, weight)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        query, key, weight, hidden = ctx.saved_tensors
        if torch.is_grad_enabled():  # double backward
            energy = _differentiable(query, key, weight)
            wanted = [one for one, needed in zip((query, key, weight), ctx.needs_input_grad, strict=True) if needed]
            found = iter(torch.autograd.grad(energy, wanted, slope, create_graph=True))
            return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)
        batch, heads, queries, keys, width = hidden.shape
        tanh = torch.mul(hidden, 2).sub_(1)  # not in place: backward may be called again
        of_weight = None
        if ctx.needs_input_grad[2]:
            # One product per query, with short sums, which round less. [B * H * T, 1, S] x [B * H * T, S, A]
            rows = torch.bmm(slope.reshape(-1, 1, keys), tanh.reshape(-1, keys, width))
            of_weight = rows.view(batch, heads, queries, width).sum((0, 2))
        if not (ctx.needs_input_grad[0] or ctx.needs_input_grad[1]):
            return None, None, of_weight
        inner = torch.addcmul(tanh.new_ones(()), tanh, tanh, value=-1).mul_(slope.unsqueeze(4))  # [B, H, T, S, A]
        each = weight.unsqueeze(1)  # [H, 1, A]
        of_query = inner.sum(3).mul_(each) if ctx.needs_input_grad[0] else None
        of_key = (inner.squeeze(2) if queries == 1 else inner.sum(2)).mul_(each) if ctx.needs_input_grad[1] else None
        return of_query, of_key, of_weight


def _hidden(query: Tensor, key: Tensor) -> Tensor:
    """Compute σ(2 (q_t + k_s)), [B, H, T, S, A]."""
    return torch.add(2 * query.unsqueeze(3), key.unsqueeze(2), alpha=2).sigmoid_()


def _energy(hidden: Tensor, weight: Tensor) -> Tensor:
    """Compute 2 vᵀ times the hidden layer, [B, H, T, S], in newly allocated memory."""
    batch, heads, queries, keys, width = hidden.shape
    energy = hidden.new_empty(batch, heads, queries, keys)
    if heads == 1:
        torch.mv(hidden.reshape(-1, width), 2 * weight[0], out=energy.view(-1))
        return energy
    each = (2 * weight)[:, None].expand(batch, heads, queries, width).reshape(-1, width, 1)  # [B * H * T, A, 1]
    torch.bmm(hidden.reshape(-1, keys, width), each, out=energy.view(-1, keys, 1))
    return energy


def _differentiable(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Compute the same energies with tanh and plain autograd."""
    hidden = torch.tanh(query.unsqueeze(3) + key.unsqueeze(2))
    return hidden @ weight[0] if len(weight) == 1 else (hidden @ weight[:, None, :, None]).squeeze(4)


def attention(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, mask: Mask | None, *, dropout: float
) -> Attended:
    """Compute `reference.attention` without features; all tensors have one dtype, not half precision."""
    with full_precision(query):
        energy = relative_score(query, key, weight)
        return read(finite_softmax(energy, mask, sizes(energy)), value, dropout, "cpu_sigmoid")
