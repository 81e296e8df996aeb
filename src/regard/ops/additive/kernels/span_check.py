"""Check of the span: |q + k| <= span, and |q|, |k| <= limit. First by the largest of all, then by each unit."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def wider(left, right):
    """The larger of |left| and |right|, with some sign, for two of bfloat16 in 32 bits; NaN where one is."""
    return gl.inline_asm_elementwise(
        "max.NaN.xorsign.abs.bf16x2 $0, $1, $2;", "=r,r,r", [left, right], gl.int32, True, 1
    )  # fmt: skip


@gluon.jit
def largest_size(pairs):
    """Of pairs of bfloat16, [rows]; NaN if one is. Without signs their bits are in their order, and NaN comes last."""
    bits = gl.max(gl.maximum(pairs & 0x7FFF, (pairs >> 16) & 0x7FFF), axis=0)
    return (bits << 16).to(gl.float32, bitcast=True)


@gluon.jit
def within(
    query, q_row, queries, key, k_row, keys, span, limit, WIDTH: gl.constexpr, POWER: gl.constexpr, WARPS: gl.constexpr
):  # fmt: skip
    """Return whether |q_a + k_a| <= span and |q_a|, |k_a| <= limit, by the extremes of each unit; not so for NaN."""
    high, low, strange = extremes(query, q_row, queries, WIDTH, POWER, WARPS)
    key_high, key_low, key_strange = extremes(key, k_row, keys, WIDTH, POWER, WARPS)
    near = (high + key_high <= span) & (low + key_low >= -span)
    near = near & (gl.maximum(high, key_high) <= limit) & (gl.minimum(low, key_low) >= -limit)
    return (gl.min(near.to(gl.int32), axis=0) > 0) & (strange + key_strange == 0)


@gluon.jit
def extremes(rows, stride, count, WIDTH: gl.constexpr, POWER: gl.constexpr, WARPS: gl.constexpr):
    """Of each unit the largest and the least of some rows, [POWER], and whether one is NaN."""
    some: gl.constexpr = max(1, 4096 // POWER)
    threads: gl.constexpr = min(32, POWER // 8)
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [32 // threads, threads], [WARPS, 1], [1, 0])
    row, unit = gl.arange(0, some, gl.SliceLayout(1, layout)), gl.arange(0, POWER, gl.SliceLayout(0, layout))
    high = gl.full([some, POWER], -3e38, gl.float32, layout)
    low = gl.full([some, POWER], 3e38, gl.float32, layout)
    strange = gl.full([some, POWER], 0, gl.int32, layout)
    for start in range(0, count, some):
        there = (start + row < count)[:, None] & (unit < WIDTH)[None, :]
        x = gl.load(rows + (start + row)[:, None] * stride + unit[None, :], there, 0.0).to(gl.float32)
        high, low = gl.maximum(high, gl.where(there, x, -3e38)), gl.minimum(low, gl.where(there, x, 3e38))
        strange = strange | (x != x).to(gl.int32)
    return gl.max(high, axis=0), gl.min(low, axis=0), gl.max(gl.max(strange, axis=1), axis=0)
