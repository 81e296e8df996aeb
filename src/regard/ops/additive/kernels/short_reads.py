"""Kernels of short additive reads: one launch forward, one backward, for up to 64 queries and keys."""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import hyperbolic_tangent, multiply

ROWS = tl.constexpr(4)  # queries of a program forward
HIDDEN = tl.constexpr(16)  # hidden units at a time forward, and entries of a value
UNITS = tl.constexpr(32)  # hidden units of a program backward, and entries of a value

_SIZES = ("queries", "keys", "after", "until")  # differ from batch to batch, and are not worth a kernel each


@triton.jit
def _allowed(t, s, b, queries, keys, lengths, after, until, LENGTHS: tl.constexpr):
    """[t, s]: within the lengths, and within the window that moves with the query."""
    count = keys
    if LENGTHS:
        count = tl.minimum(tl.load(lengths + b).to(tl.int32), keys)
    ahead = s[None, :] - t[:, None]
    return (t < queries)[:, None] & (s < count)[None, :] & (ahead > after) & (ahead <= until)


@triton.jit
def _rows(base, rows, columns, stride, row_count, column_count):
    """A tile [rows, columns] in float32, zero beyond the edges; the last dimension is dense."""
    inside = (rows < row_count)[:, None] & (columns < column_count)[None, :]
    return tl.load(base + rows[:, None] * stride + columns[None, :], mask=inside, other=0.0).to(tl.float32)


@triton.jit(do_not_specialize=_SIZES)
def read(
    query, q_b, q_h, q_t, key, k_b, k_h, k_s, value, v_b, v_h, v_s, weight, context, weights, lengths,
    heads, queries, keys, width, value_width, after, until,
    S: tl.constexpr, LENGTHS: tl.constexpr,
):  # fmt: skip
    """Context [B, H, T, Dv] and weights [B, H, T, S] of ROWS queries of a head; the grid is heads by blocks of rows."""
    group = tl.program_id(0).to(tl.int64)
    b, h = group // heads, group % heads
    t, s = tl.program_id(1) * ROWS + tl.arange(0, ROWS), tl.arange(0, S)
    query += b * q_b + h * q_h
    key += b * k_b + h * k_h
    value += b * v_b + h * v_h
    energy = tl.zeros([ROWS, S], tl.float32)
    for begin in range(0, width, HIDDEN):
        a = begin + tl.arange(0, HIDDEN)
        q = _rows(query, t, a, q_t, queries, width)
        k = _rows(key, s, a, k_s, keys, width)
        v = tl.load(weight + h * width + a, mask=a < width, other=0.0).to(tl.float32)
        hidden = hyperbolic_tangent(q[:, None, :] + k[None, :, :], False)  # [t, s, a]
        energy += tl.sum(hidden * v[None, None, :], axis=2)
    allowed = _allowed(t, s, b, queries, keys, lengths, after, until, LENGTHS)
    energy = tl.where(allowed, energy, float("-inf"))
    level = tl.max(energy, axis=1)
    share = tl.exp(energy - tl.where(level == float("-inf"), 0.0, level)[:, None])
    total = tl.sum(share, axis=1)
    share = share / tl.where(total == 0.0, 1.0, total)[:, None]  # a row with nothing to attend to stays zero
    inside = (t < queries)[:, None] & (s < keys)[None, :]
    tl.store(weights + (group * queries + t[:, None]) * keys + s[None, :], share, mask=inside)
    for begin in range(0, value_width, HIDDEN):
        d = begin + tl.arange(0, HIDDEN)
        entries = _rows(value, s, d, v_s, keys, value_width)
        found = tl.sum(share[:, :, None] * entries[None, :, :], axis=1)  # [t, d]
        place = context + (group * queries + t[:, None]) * value_width + d[None, :]
        tl.store(place, found.to(context.dtype.element_ty), mask=(t < queries)[:, None] & (d < value_width)[None, :])


@triton.jit
def _energy_gradients(
    value, v_s, weights, upstream, upstream_weights, group, t, s, queries, keys, value_width,
    T: tl.constexpr, S: tl.constexpr, WEIGHTS: tl.constexpr,
):  # fmt: skip
    """Weights a and gradients of energies a_ts (w_ts - Σ_s' a_ts' w_ts'), w = g value^T + the weights' own, [t, s]."""
    inside = (t < queries)[:, None] & (s < keys)[None, :]
    pairs = (group * queries + t[:, None]) * keys + s[None, :]
    share = tl.load(weights + pairs, mask=inside, other=0.0)
    pull = tl.zeros([T, S], tl.float32)
    if WEIGHTS:
        pull += tl.load(upstream_weights + pairs, mask=inside, other=0.0)
    for begin in range(0, value_width, UNITS):
        d = begin + tl.arange(0, UNITS)
        g = _rows(upstream + group * queries * value_width, t, d, value_width, queries, value_width)
        entries = _rows(value, s, d, v_s, keys, value_width)
        pull = multiply(g, tl.trans(entries), pull, "ieee")
    return share, share * (pull - tl.sum(share * pull, axis=1)[:, None])


@triton.jit(do_not_specialize=_SIZES)
def pull(
    query, q_b, q_h, q_t, key, k_b, k_h, k_s, value, v_b, v_h, v_s, weight, weights, upstream, upstream_weights,
    grad_query, grad_key, grad_value, grad_weight, heads, queries, keys, width, value_width,
    T: tl.constexpr, S: tl.constexpr, WEIGHTS: tl.constexpr,
):  # fmt: skip
    """Gradients of UNITS hidden units and of as many entries of the values; each program makes those of energies.

    Gradients are dense; that of the weight is [B, H, A], to be summed over B.
    """
    group = tl.program_id(0).to(tl.int64)
    b, h = group // heads, group % heads
    t, s = tl.arange(0, T), tl.arange(0, S)
    unit = tl.program_id(1) * UNITS + tl.arange(0, UNITS)
    query += b * q_b + h * q_h
    key += b * k_b + h * k_h
    value += b * v_b + h * v_h
    share, slope = _energy_gradients(
        value, v_s, weights, upstream, upstream_weights, group, t, s, queries, keys, value_width, T, S, WEIGHTS
    )
    if tl.program_id(1) * UNITS < value_width:
        g = _rows(upstream + group * queries * value_width, t, unit, value_width, queries, value_width)
        found = multiply(tl.trans(share), g, tl.zeros([S, UNITS], tl.float32), "ieee")
        inside = (s < keys)[:, None] & (unit < value_width)[None, :]
        place = grad_value + (group * keys + s[:, None]) * value_width + unit[None, :]
        tl.store(place, found.to(grad_value.dtype.element_ty), mask=inside)
    if tl.program_id(1) * UNITS < width:
        k = _rows(key, s, unit, k_s, keys, width)
        v = tl.load(weight + h * width + unit, mask=unit < width, other=0.0).to(tl.float32)
        for_key, for_weight = tl.zeros([S, UNITS], tl.float32), tl.zeros([UNITS], tl.float32)
        for row in range(0, queries):
            q = tl.load(query + row * q_t + unit, mask=unit < width, other=0.0).to(tl.float32)
            mine = tl.sum(tl.where((t == row)[:, None], slope, 0.0), axis=0)  # [s], a row that lies in registers
            hidden = hyperbolic_tangent(q[None, :] + k, False)
            for_weight += tl.sum(mine[:, None] * hidden, axis=0)
            inner = mine[:, None] * (1.0 - hidden * hidden) * v[None, :]
            for_key += inner
            place = grad_query + (group * queries + row) * width + unit
            tl.store(place, tl.sum(inner, axis=0).to(grad_query.dtype.element_ty), mask=unit < width)
        place = grad_key + (group * keys + s[:, None]) * width + unit[None, :]
        inside = (s < keys)[:, None] & (unit < width)[None, :]
        tl.store(place, for_key.to(grad_key.dtype.element_ty), mask=inside)
        tl.store(grad_weight + group * width + unit, for_weight, mask=unit < width)
