"""Graph attention by kernels, over sorted edges: a program has a node, and walks along its edges.

Nothing is as large as the edges but one number for each edge and head in the backward pass. Every sum has an order that
does not change, so the same input gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.ops.graph.edges import Edges
from regard.ops.kernels import DTYPES, apply_first_order, check_kernels, no_double_backward

WIDEST = 1024
"""Entries of a node in one head, at most: a program holds them all."""

_WHAT = "graph: the fused implementation"
_OTHER = 'use impl="sparse", or leave impl out'


def read(
    as_source: Tensor, as_target: Tensor, value: Tensor, kept: Tensor | None, edges: Edges, slope: float
) -> Tensor:
    """Context [N, H, D] in the dtype of `value` [N, H, D], from what nodes are worth, [N, H].

    `kept` [E, H] is what weights are multiplied by on their way, in the order of the edges as they were given.
    """
    check_kernels(_WHAT, value.device, value.dtype, DTYPES, _OTHER)
    if value.shape[2] > WIDEST:
        raise ValueError(f"{_WHAT} has heads of up to {WIDEST} entries; got {value.shape[2]}; {_OTHER}")
    found: Tensor = apply_first_order(_WHAT, _Read, as_source.float(), as_target.float(), value, kept, edges, slope)
    return found


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, as_source: Tensor, as_target: Tensor, value: Tensor, kept: Tensor | None, edges: Edges, slope: float
    ) -> Tensor:
        from regard.ops.graph.kernels import read_edges

        as_source, as_target, value = as_source.contiguous(), as_target.contiguous(), value.contiguous()
        # The backward pass needs the context before it is rounded; where there is none, it is rounded in the kernel.
        dtype = torch.float32 if any(ctx.needs_input_grad) else value.dtype
        context, top, total = read_edges(as_source, as_target, value, kept, edges.by_target, slope, dtype)
        ctx.save_for_backward(as_source, as_target, value, kept, context, top, total)
        ctx.edges, ctx.slope = edges, slope
        return context.to(value.dtype)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        from regard.ops.graph.kernels import pull_edges, sum_edges

        no_double_backward(_WHAT)
        as_source, as_target, value, kept, context, top, total = ctx.saved_tensors
        edges: Edges = ctx.edges
        delta = (upstream.float() * context).sum(2)  # ∂/∂e_ij = α_ij (κ_ij g_i · value_j - δ_i)
        grad_source, grad_value, pulled = pull_edges(
            as_source, as_target, value, kept, top, total, delta, upstream.contiguous(), edges.by_source, ctx.slope
        )
        return grad_source, sum_edges(pulled, edges.by_target), grad_value, None, None, None
