"""The cross-entropy by Triton kernels: logits are read once forward, and once more for the gradient.

A program walks along a row of logits: forward for its log-sum-exp, back for its gradient.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


class FusedCrossEntropy(torch.autograd.Function):
    """The cross-entropy with its gradient; keeps the logits and their log-sum-exp."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, weight: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
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
        logits, target, weight, level = ctx.saved_tensors
        return slope(logits, target, weight * total, level, ctx.smoothing), None, None, None


_BLOCK = 4096


def surprise(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log Σ_v e^x_v, x_y and the mean of x of each row of [N, V], [N] in float32."""
    found = torch.empty(3, len(logits), dtype=torch.float32, device=logits.device)
    if len(logits):
        with _on(logits):
            _walk[(len(logits),)](logits, target, *found, logits.shape[1], **_size(logits))
    return found[0], found[1], found[2]


def slope(logits: Tensor, target: Tensor, scale: Tensor, level: Tensor, smoothing: float) -> Tensor:
    """scale_n (e^(x_nv - level_n) - ε / V - (1 - ε) [v = y_n]), [N, V], in the dtype of the logits."""
    gradient = torch.empty_like(logits)
    if len(logits):
        with _on(logits):
            _fall[(len(logits),)](
                logits, target, scale, level, gradient, smoothing, logits.shape[1], **_size(logits)
            )  # fmt: skip
    return gradient


def _size(logits: Tensor) -> dict[str, Any]:
    block = min(_BLOCK, triton.next_power_of_2(logits.shape[1]))
    return {"BLOCK": block, "num_warps": max(1, min(8, block // 256))}


def _on(tensor: Tensor) -> Any:
    return torch.cuda.device_of(tensor)


@triton.jit
def _walk(logits, target, level, chosen, mean, width, BLOCK: tl.constexpr):
    """One row: an online log-sum-exp, so that every logit is read once."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * width
    highest = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    plain = tl.zeros([BLOCK], tl.float32)
    for start in range(0, width, BLOCK):
        v = start + tl.arange(0, BLOCK)
        x = tl.load(logits + v, mask=v < width, other=float("-inf")).to(tl.float32)
        peak = tl.maximum(highest, x)
        zero = tl.where(peak == float("-inf"), 0.0, peak)
        total = total * tl.exp(highest - zero) + tl.exp(x - zero)
        plain += tl.where(v < width, x, 0.0)
        highest = peak
    peak = tl.max(highest, axis=0)
    zero = tl.where(peak == float("-inf"), 0.0, peak)
    whole = tl.sum(total * tl.exp(highest - zero), axis=0)
    tl.store(level + row, zero + tl.log(whole))
    tl.store(chosen + row, tl.load(logits + tl.load(target + row)).to(tl.float32))
    tl.store(mean + row, tl.sum(plain, axis=0) / width)


@triton.jit
def _fall(logits, target, scale, level, gradient, smoothing, width, BLOCK: tl.constexpr):
    """One row of the gradient."""
    row = tl.program_id(0).to(tl.int64)
    logits += row * width
    gradient += row * width
    right, peak, factor = tl.load(target + row), tl.load(level + row), tl.load(scale + row)
    for start in range(0, width, BLOCK):
        v = start + tl.arange(0, BLOCK)
        x = tl.load(logits + v, mask=v < width, other=float("-inf")).to(tl.float32)
        found = tl.exp(x - peak) - smoothing / width - tl.where(v == right, 1.0 - smoothing, 0.0)
        tl.store(gradient + v, (factor * found).to(gradient.dtype.element_ty), mask=v < width)
