"""The cross-entropy by kernels: logits are read once forward, and once more for the gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Fused(torch.autograd.Function):
    """Keeps the logits and their log-sum-exp."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, weight: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        from regard.ops.cross_entropy.kernels import surprise

        logits, weight = logits.contiguous(), weight.float()
        level, chosen, mean = surprise(logits, target)
        nll = ((level - chosen) * weight).sum()
        ctx.save_for_backward(logits, target, weight, level)
        ctx.smoothing = smoothing
        ctx.mark_non_differentiable(nll)
        if smoothing == 0.0:
            return nll.clone(), nll
        even = ((level - mean) * weight).sum()
        return (1 - smoothing) * nll + smoothing * even, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, total: Tensor, nll: Tensor) -> tuple[Tensor, None, None, None]:
        from regard.ops.cross_entropy.kernels import slope

        logits, target, weight, level = ctx.saved_tensors
        return slope(logits, target, weight * total, level, ctx.smoothing), None, None, None
