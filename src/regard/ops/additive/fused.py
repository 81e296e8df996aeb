"""Additive attention in fused kernels: `blocked` with tiles in GPU registers. README.md has the derivation.

Memory beyond inputs and outputs: queries and keys once or twice in float32, and `launch.SCRATCH` in the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.masks import Mask
from regard.ops.additive import blocked
from regard.ops.additive.launch import Launch, choose
from regard.ops.additive.tiles import Operands, rebuilt
from regard.ops.attended import Attended
from regard.ops.kernels import DTYPES, apply_first_order, cast_gradients, check_kernels, no_double_backward

_WHAT = "additive: the fused implementation"


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    weight: Tensor,
    mask: Mask | None,
    *,
    features: Tensor | None,
    feature_weight: Tensor | None,
    launch: Launch | None = None,
) -> Attended:
    """Compute `reference.attention` in Triton kernels; `launch` overrides the rule for tile sizes."""
    for tensor in (query, key, value):
        interpreted = check_kernels(_WHAT, tensor.device, tensor.dtype, DTYPES, 'use impl="blocked", or leave impl out')
    operands = Operands(query, key, weight, features, feature_weight)
    if launch is None:
        launch = choose(
            query.shape[3], key.shape[2], query.dtype, features=features is not None, interpreted=interpreted
        )
    context = apply_first_order(_WHAT, _Attention, query, key, value, weight, features, feature_weight, mask, launch)
    return Attended(context, rebuilt(blocked.score, operands, mask), operands.shape, impl="fused")


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
        launch: Launch,
    ) -> Tensor:
        from regard.ops.additive.kernel_call import KernelCall

        operands = Operands(query, key, weight, features, feature_weight)
        context, level, total = KernelCall(operands, value, mask, launch).attend()
        ctx.save_for_backward(query, key, value, weight, features, feature_weight, context, level, total)
        ctx.mask, ctx.launch = mask, launch
        return context.to(value.dtype)

    @staticmethod
    def backward(ctx: Any, grad_context: Tensor) -> tuple[Tensor | None, ...]:
        from regard.ops.additive.kernel_call import KernelCall

        no_double_backward(_WHAT)
        query, key, value, weight, features, feature_weight, context, level, total = ctx.saved_tensors
        operands = Operands(query, key, weight, features, feature_weight)
        delta = (grad_context.float() * context).sum(-1)  # ∂/∂e_ts = a_ts (g_t · value_s - δ_t)
        grads, grad_value = KernelCall(operands, value, ctx.mask, ctx.launch).gradients(
            grad_context, level, total, delta
        )
        given = (query, key, weight, features, feature_weight)
        grad_query, grad_key, *rest = cast_gradients(grads.tensors(), given)
        return grad_query, grad_key, grad_value.to(value.dtype), *rest, None, None
