"""Triton kernels for short sequences: weights stay on the chip and are recomputed in the backward pass.

One program handles one head of one sequence: all its queries, keys and values, with arbitrary strides.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.ops.additive.kernels.device import multiply
from regard.ops.kernels import no_double_backward
from regard.ops.limits import MaskLimits

WHAT = "inner products: the kernel for short reads"


class ShortRead(torch.autograd.Function):
    """Autograd function of a short read; saves its inputs and the seed of dropout."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, limits: MaskLimits, scale: float, dropout: float
    ) -> Tensor:
        seed = torch.randint(1 << 31, (1,), device=query.device) if dropout else None
        ctx.save_for_backward(query, key, value, limits.lengths, seed)
        ctx.limits, ctx.scale, ctx.dropout = limits._replace(lengths=None), scale, dropout
        return read(query, key, value, limits, scale, dropout, seed)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        no_double_backward(WHAT)
        query, key, value, lengths, seed = ctx.saved_tensors
        limits = ctx.limits._replace(lengths=lengths)
        return *pull(query, key, value, upstream, limits, ctx.scale, ctx.dropout, seed), None, None, None


_SMALL = 32 * 64  # entries of a head for which two warps are enough
_LENGTHS = ("queries", "keys", "after", "until", "l_b")  # differ from batch to batch, and are not worth a kernel each


def read(
    query: Tensor, key: Tensor, value: Tensor, limits: MaskLimits, scale: float, dropout: float, seed: Tensor | None
) -> Tensor:
    """Compute softmax(scale q.k) value, [B, H, T, Dv], with the heads of a token adjacent in memory."""
    batch, heads, queries, _ = query.shape
    context = query.new_empty(batch, queries, heads, value.shape[3]).transpose(1, 2)
    if context.numel():
        with torch.cuda.device_of(query):
            _read[batch * heads,](
                *_laid(query, key, value, context), *_sizes(query, key, value), scale, *_limits(query, key, limits),
                dropout, query if seed is None else seed, **_tile(query, key, value, limits, seed),
            )  # fmt: skip
    return context


def pull(
    query: Tensor, key: Tensor, value: Tensor, upstream: Tensor, limits: MaskLimits, scale: float, dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Return the gradients of query, key and value."""
    if not upstream.numel():
        return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    grads = torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)
    with torch.cuda.device_of(query):
        _pull[query.shape[0] * query.shape[1],](
            *_laid(query, key, value, upstream, *grads), *_sizes(query, key, value), scale,
            *_limits(query, key, limits), dropout, query if seed is None else seed,
            **_tile(query, key, value, limits, seed),
        )  # fmt: skip
    return grads


def _laid(*tensors: Tensor) -> list[Any]:
    """Return each tensor and its strides over sequences, heads, tokens and channels."""
    return [part for tensor in tensors for part in (tensor, *tensor.stride())]


def _sizes(query: Tensor, key: Tensor, value: Tensor) -> tuple[int, ...]:
    return query.shape[1], query.shape[2], key.shape[2], query.shape[3], value.shape[3]


def _limits(query: Tensor, key: Tensor, limits: MaskLimits) -> tuple[Any, ...]:
    lengths, after, until = limits
    bounds = -query.shape[2] if after is None else after, key.shape[2] if until is None else until
    return (query, 0, *bounds) if lengths is None else (lengths, lengths.stride(0), *bounds)


def _tile(query: Tensor, key: Tensor, value: Tensor, limits: MaskLimits, seed: Tensor | None) -> dict[str, Any]:
    """Return the tile size; only two exist, since each is compiled on its first use, which takes seconds."""
    size = 32 if max(query.shape[2], key.shape[2]) <= 32 else 64
    width, value_width = _whole(query.shape[3]), _whole(value.shape[3])
    small = size * max(width, value_width) <= _SMALL and query.dtype != torch.float32
    return {
        "N": size,
        "D": width,
        "V": value_width,
        "LENGTHS": limits.lengths is not None,
        "DROPS": seed is not None,
        "PRECISION": "ieee" if query.dtype == torch.float32 else "tf32",
        "num_warps": 2 if small else 4,
    }


def _whole(size: int) -> int:
    """Round up to a size that tensor cores support: a power of two, at least 16."""
    return max(16, triton.next_power_of_2(size))


@triton.jit(do_not_specialize=_LENGTHS)
def _read(
    query, q_b, q_h, q_t, q_d, key, k_b, k_h, k_s, k_d, value, v_b, v_h, v_s, v_d, context, c_b, c_h, c_t, c_d,
    heads, queries, keys, width, value_width, scale, lengths, l_b, after, until, dropout, seed,
    N: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
    LENGTHS: tl.constexpr, DROPS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Forward kernel. Grid: sequences x heads; a program handles up to N queries and N keys."""
    b, h = tl.program_id(0).to(tl.int64) // heads, tl.program_id(0) % heads
    t, s, d, v = tl.arange(0, N), tl.arange(0, N), tl.arange(0, D), tl.arange(0, V)
    q = _rows(query + b * q_b + h * q_h, t, d, q_t, q_d, queries, width)
    k = _rows(key + b * k_b + h * k_h, s, d, k_s, k_d, keys, width)
    share, total = _shares(q, k, t, s, b, keys, scale, lengths, l_b, after, until, N, LENGTHS, PRECISION)
    if DROPS:
        share *= _kept(seed, dropout, t, s, N)
    values = _rows(value + b * v_b + h * v_h, s, v, v_s, v_d, keys, value_width)
    found = multiply(share.to(values.dtype), values, tl.zeros([N, V], tl.float32), PRECISION) / total[:, None]
    _write(context + b * c_b + h * c_h, found.to(values.dtype), t, v, c_t, c_d, queries, value_width)


@triton.jit(do_not_specialize=_LENGTHS)
def _pull(
    query, q_b, q_h, q_t, q_d, key, k_b, k_h, k_s, k_d, value, v_b, v_h, v_s, v_d, upstream, u_b, u_h, u_t, u_d,
    grad_query, gq_b, gq_h, gq_t, gq_d, grad_key, gk_b, gk_h, gk_s, gk_d, grad_value, gv_b, gv_h, gv_s, gv_d,
    heads, queries, keys, width, value_width, scale, lengths, l_b, after, until, dropout, seed,
    N: tl.constexpr, D: tl.constexpr, V: tl.constexpr,
    LENGTHS: tl.constexpr, DROPS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Backward kernel on the same grid, with recomputed weights a and dropout factors κ.

    ∂/∂e_ts = a_ts (w_ts - Σ_s' a_ts' w_ts') with w = κ g.v.
    """
    b, h = tl.program_id(0).to(tl.int64) // heads, tl.program_id(0) % heads
    t, s, d, v = tl.arange(0, N), tl.arange(0, N), tl.arange(0, D), tl.arange(0, V)
    q = _rows(query + b * q_b + h * q_h, t, d, q_t, q_d, queries, width)
    k = _rows(key + b * k_b + h * k_h, s, d, k_s, k_d, keys, width)
    values = _rows(value + b * v_b + h * v_h, s, v, v_s, v_d, keys, value_width)
    g = _rows(upstream + b * u_b + h * u_h, t, v, u_t, u_d, queries, value_width)
    share, total = _shares(q, k, t, s, b, keys, scale, lengths, l_b, after, until, N, LENGTHS, PRECISION)
    weights = share / total[:, None]
    given, worth = weights, multiply(g, tl.trans(values), tl.zeros([N, N], tl.float32), PRECISION)
    if DROPS:
        kept = _kept(seed, dropout, t, s, N)
        given, worth = weights * kept, worth * kept
    found = multiply(tl.trans(given.to(g.dtype)), g, tl.zeros([N, V], tl.float32), PRECISION)
    _write(grad_value + b * gv_b + h * gv_h, found.to(values.dtype), s, v, gv_s, gv_d, keys, value_width)
    slope = (weights * (worth - tl.sum(weights * worth, axis=1)[:, None]) * scale).to(q.dtype)
    found = multiply(slope, k, tl.zeros([N, D], tl.float32), PRECISION)
    _write(grad_query + b * gq_b + h * gq_h, found.to(q.dtype), t, d, gq_t, gq_d, queries, width)
    found = multiply(tl.trans(slope), q, tl.zeros([N, D], tl.float32), PRECISION)
    _write(grad_key + b * gk_b + h * gk_h, found.to(k.dtype), s, d, gk_s, gk_d, keys, width)


@triton.jit
def _shares(
    q, k, t, s, b, keys, scale, lengths, l_b, after, until,
    N: tl.constexpr, LENGTHS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Return exp(e - max e) [N, N], 0 at masked keys, and their sums [N], 1 for a fully masked row."""
    energy = multiply(q, tl.trans(k), tl.zeros([N, N], tl.float32), PRECISION) * scale
    end = keys
    if LENGTHS:
        end = tl.minimum(tl.load(lengths + b * l_b), keys)
    seen = (s < end)[None, :] & (s[None, :] > t[:, None] + after) & (s[None, :] <= t[:, None] + until)
    energy = tl.where(seen, energy, float("-inf"))
    highest = tl.max(energy, axis=1)
    share = tl.exp(energy - tl.where(highest == float("-inf"), 0.0, highest)[:, None])
    total = tl.sum(share, axis=1)
    return share, tl.where(total == 0.0, 1.0, total)


@triton.jit
def _kept(seed, dropout, t, s, N: tl.constexpr):
    """Return dropout factors [N, N]: 0 with probability `dropout`, else 1 / (1 - dropout)."""
    place = (tl.program_id(0) * N + t[:, None]) * N + s[None, :]
    return tl.where(tl.rand(tl.load(seed), place) < dropout, 0.0, 1.0 / (1.0 - dropout))


@triton.jit
def _rows(start, row, column, to_row, to_column, rows, columns):
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    return tl.load(start + row[:, None] * to_row + column[None, :] * to_column, mask=inside, other=0.0)


@triton.jit
def _write(start, numbers, row, column, to_row, to_column, rows, columns):
    inside = (row < rows)[:, None] & (column < columns)[None, :]
    tl.store(start + row[:, None] * to_row + column[None, :] * to_column, numbers, mask=inside)
