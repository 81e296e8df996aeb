"""Short reads by kernels: weights are made forward, and once more backward, and never leave the chip."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.ops.custom_gradients import only_once
from regard.ops.short_reads.limits import Limits

WHAT = "inner products: the kernel for short reads"


class Fused(torch.autograd.Function):
    """Keeps what it was given, and from what it drew which weights to drop."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, limits: Limits, scale: float, dropout: float
    ) -> Tensor:
        from regard.ops.short_reads.kernels import read

        seed = torch.randint(1 << 31, (1,), device=query.device) if dropout else None
        ctx.save_for_backward(query, key, value, limits.lengths, seed)
        ctx.limits, ctx.scale, ctx.dropout = limits._replace(lengths=None), scale, dropout
        return read(query, key, value, limits, scale, dropout, seed)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        from regard.ops.short_reads.kernels import pull

        only_once(WHAT)
        query, key, value, lengths, seed = ctx.saved_tensors
        limits = ctx.limits._replace(lengths=lengths)
        return *pull(query, key, value, upstream, limits, ctx.scale, ctx.dropout, seed), None, None, None
