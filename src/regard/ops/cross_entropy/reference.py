"""Reference of the cross-entropy in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.ops.softmax import statistics_dtype


class CrossEntropyFunction(torch.autograd.Function):
    """Cross-entropy whose gradient overwrites the saved log-probabilities, so backward can run only once."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, weight: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        log_probs = logits.log_softmax(-1, dtype=statistics_dtype(logits.dtype))
        weight = weight.to(log_probs.dtype)
        nll = -(log_probs.gather(1, target.unsqueeze(1)).squeeze(1) * weight).sum()  # [N]
        ctx.save_for_backward(log_probs, target, weight)
        ctx.smoothing, ctx.dtype = smoothing, logits.dtype
        ctx.mark_non_differentiable(nll)
        if smoothing == 0.0:
            return nll.clone(), nll
        even = -(log_probs.mean(-1) * weight).sum()
        return (1 - smoothing) * nll + smoothing * even, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, total: Tensor, nll: Tensor) -> tuple[Tensor, None, None, None]:
        log_probs, target, weight = ctx.saved_tensors
        gradient = log_probs.exp_()
        if ctx.smoothing:
            gradient.sub_(ctx.smoothing / gradient.shape[1])
        right = gradient.new_full((len(target), 1), ctx.smoothing - 1)
        gradient.scatter_add_(1, target.unsqueeze(1), right).mul_((weight * total).unsqueeze(1))
        return gradient.to(ctx.dtype), None, None, None
