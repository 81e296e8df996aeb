"""Unit vectors by kernels: entries are read once forward, and with their gradient once more backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class Fused(torch.autograd.Function):
    """Keeps the vectors and √D over their lengths."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, softness: float) -> Tensor:
        from regard.ops.unit_vectors.kernels import shorten

        made, factor = shorten(vectors, softness)
        ctx.save_for_backward(vectors, factor)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        from regard.ops.unit_vectors.kernels import turn

        vectors, factor = ctx.saved_tensors
        return turn(vectors, factor, upstream), None
