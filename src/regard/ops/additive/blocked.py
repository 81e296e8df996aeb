"""Tiled additive attention without the [B, H, T, S, A] tensor in memory. README.md has the derivation.

The forward pass saves the context, and the maximum and sum of each row's softmax; the backward pass recomputes each
tile. Memory beyond inputs and outputs is a few tiles, independent of T and S.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive.tiles import Operands, rebuilt, tiles
from regard.ops.attended import Attended
from regard.ops.kernels import apply_first_order, cast_gradients, no_double_backward
from regard.ops.softmax import full_precision

_WHAT = "additive: the blocked implementation"


def score(
    query: Tensor, key: Tensor, weight: Tensor, *, features: Tensor | None, feature_weight: Tensor | None
) -> Tensor:
    """Compute `reference.score` tile by tile."""
    energy: Tensor = _apply(_Score, query, key, weight, features, feature_weight)
    return energy


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    feature_weight: Tensor | None,
) -> Attended:
    """Compute `reference.attention` tile by tile."""
    shape = Operands(query, key, weight, features, feature_weight).shape
    context = _apply(_Attention, query, key, value, weight, features, feature_weight, mask)
    weigh = rebuilt(score, Operands(query, key, weight, features, feature_weight), mask)
    return Attended(context, weigh, shape, impl="blocked")


def _apply(function: type[torch.autograd.Function], *operands: Any) -> Any:
    return apply_first_order(_WHAT, function, *operands)


class _Score(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, weight: Tensor, features: Tensor | None, feature_weight: Tensor | None
    ) -> Tensor:
        ctx.save_for_backward(query, key, weight, features, feature_weight)
        operands = Operands(query, key, weight, features, feature_weight).widen()
        energy = operands.query.new_empty(operands.shape)
        for tile in tiles(operands):
            energy[tile.pairs] = operands.energy(operands.hidden(tile), tile)
        return energy

    @staticmethod
    def backward(ctx: Any, grad_energy: Tensor) -> tuple[Tensor | None, ...]:
        no_double_backward(_WHAT)
        operands = Operands(*ctx.saved_tensors).widen()
        grads = operands.zeros()
        with full_precision(grad_energy):
            for tile in tiles(operands):
                operands.add_gradients(grads, tile, operands.hidden(tile), grad_energy[tile.pairs])
        return cast_gradients(grads.tensors(), ctx.saved_tensors)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        weight: Tensor,
        features: Tensor | None,
        feature_weight: Tensor | None,
        mask: Mask | None,
    ) -> Tensor:
        operands = Operands(query, key, weight, features, feature_weight).widen()
        batch, heads, queries, _ = operands.shape
        values = value.to(operands.query.dtype)
        total = operands.query.new_zeros(batch, heads, queries, 1)
        highest = torch.full_like(total, -torch.inf)
        context = total.new_zeros(batch, heads, queries, value.shape[3])
        for tile in tiles(operands, mask):
            at = tile.queries
            energy = operands.energy(operands.hidden(tile), tile)
            new = torch.maximum(highest[at], energy.amax(-1, keepdim=True))
            level = new.masked_fill(new == -torch.inf, 0.0)
            exp = energy.sub_(level).exp_()
            shrink = torch.exp(highest[at] - level)
            total[at] = total[at] * shrink + exp.sum(-1, keepdim=True)
            context[at] = context[at] * shrink + exp @ values[tile.keys]
            highest[at] = new
        total.masked_fill_(total == 0, 1.0)
        context /= total
        level = highest.masked_fill_(highest == -torch.inf, 0.0)
        ctx.save_for_backward(query, key, value, weight, features, feature_weight, context, level, total)
        ctx.mask = mask
        return context.to(value.dtype)

    @staticmethod
    def backward(ctx: Any, grad_context: Tensor) -> tuple[Tensor | None, ...]:
        no_double_backward(_WHAT)
        query, key, value, weight, features, feature_weight, context, level, total = ctx.saved_tensors
        operands = Operands(query, key, weight, features, feature_weight).widen()
        grads, grad_value = operands.zeros(), torch.zeros_like(value, dtype=operands.query.dtype)
        values, grad_context = value.to(grad_value.dtype), grad_context.to(grad_value.dtype)
        delta = (grad_context * context).sum(-1, keepdim=True)  # ∂/∂e_ts = a_ts (g_t · value_s - δ_t)
        with full_precision(query):
            for tile in tiles(operands, ctx.mask):
                hidden = operands.hidden(tile)
                weights = operands.energy(hidden, tile).sub_(level[tile.queries]).exp_().div_(total[tile.queries])
                upstream = grad_context[tile.queries]
                grad_value[tile.keys] += weights.mT @ upstream
                grad_energy = weights.mul_(upstream @ values[tile.keys].mT - delta[tile.queries])
                operands.add_gradients(grads, tile, hidden, grad_energy)
        given = (query, key, weight, features, feature_weight)
        grad_query, grad_key, *rest = cast_gradients(grads.tensors(), given)
        return grad_query, grad_key, grad_value.to(value.dtype), *rest, None
