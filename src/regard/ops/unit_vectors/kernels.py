"""Unit vectors by Triton kernels: entries are read once forward, and with their gradient once more backward.

A program has some whole vectors, which may lie anywhere: [B, H, T, D] with any strides.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable


class UnitVectors(torch.autograd.Function):
    """Unit vectors with their gradient; keeps the vectors and √D over their lengths."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, softness: float) -> Tensor:
        made, factor = shorten(vectors, softness)
        ctx.save_for_backward(vectors, factor)
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        vectors, factor = ctx.saved_tensors
        return turn(vectors, factor, upstream), None


_ENTRIES = 2048
"""Of the vectors of one program."""


def shorten(vectors: Tensor, softness: float) -> tuple[Tensor, Tensor]:
    """y = r x with r = √(D / (|x|² + ε²)), [B, H, T, D] in the dtype of x, and r [B, H, T] in float32."""
    made = torch.empty(vectors.shape, dtype=vectors.dtype, device=vectors.device)
    factor = torch.empty(vectors.shape[:3], dtype=torch.float32, device=vectors.device)
    if made.numel():
        grid, sizes = _sizes(vectors)
        with torch.cuda.device_of(vectors):
            _shorten[grid](vectors, made, factor, softness * softness, *_places(vectors), *vectors.shape[1:], **sizes)
    return made, factor


def turn(vectors: Tensor, factor: Tensor, upstream: Tensor) -> Tensor:
    """The gradient, r g - r³ x (x.g) / D: only what is across a vector turns it."""
    gradient = torch.empty(vectors.shape, dtype=vectors.dtype, device=vectors.device)
    if gradient.numel():
        grid, sizes = _sizes(vectors)
        with torch.cuda.device_of(vectors):
            _turn[grid](
                vectors, factor, upstream, gradient, *_places(vectors), *upstream.stride(), *vectors.shape[1:], **sizes
            )  # fmt: skip
    return gradient


def _sizes(vectors: Tensor) -> tuple[tuple[int], dict[str, Any]]:
    batch, heads, rows, width = vectors.shape
    columns = triton.next_power_of_2(width)
    block = max(1, _ENTRIES // columns)
    return (triton.cdiv(batch * heads * rows, block),), {"ROWS": block, "COLUMNS": columns, "num_warps": 4}


def _places(vectors: Tensor) -> tuple[int, ...]:
    return vectors.shape[0] * vectors.shape[1] * vectors.shape[2], *vectors.stride()


@triton.jit
def _shorten(
    vectors, made, factor, floor, count, b, h, t, d, heads, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """Rows of x -> rows of y, which lie behind each other."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    inside = (row < count)[:, None] & (column < width)[None, :]
    x = tl.load(vectors + _place(row, column, b, h, t, d, heads, rows), mask=inside, other=0.0).to(tl.float32)
    scale = tl.sqrt(width / (tl.sum(x * x, axis=1) + floor))
    tl.store(factor + row, scale, mask=row < count)
    to = made + row[:, None] * width + column[None, :]
    tl.store(to, (x * scale[:, None]).to(made.dtype.element_ty), mask=inside)


@triton.jit
def _turn(
    vectors, factor, upstream, gradient, count, b, h, t, d, g_b, g_h, g_t, g_d, heads, rows, width,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Rows of x and of the gradient of y -> rows of the gradient of x, which lie behind each other."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    inside = (row < count)[:, None] & (column < width)[None, :]
    x = tl.load(vectors + _place(row, column, b, h, t, d, heads, rows), mask=inside, other=0.0).to(tl.float32)
    g = tl.load(upstream + _place(row, column, g_b, g_h, g_t, g_d, heads, rows), mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(factor + row, mask=row < count, other=0.0)
    unit = x * scale[:, None]
    along = tl.sum(unit * g, axis=1) / width
    found = scale[:, None] * (g - unit * along[:, None])
    to = gradient + row[:, None] * width + column[None, :]
    tl.store(to, found.to(gradient.dtype.element_ty), mask=inside)


@triton.jit
def _place(row, column, b, h, t, d, heads, rows):
    """Addresses of the entries of the vectors `row`, counted through B, H and T."""
    at = row // (heads * rows) * b + row // rows % heads * h + row % rows * t
    return at[:, None] + column[None, :] * d
