"""Parts of all kernels: special functions with their substitutes in Triton's interpreter, and the mask."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

INTERPRETED = tl.constexpr(triton.knobs.runtime.interpret)


@triton.jit
def reciprocal(x):
    """1 / x for x >= 1, inf included, in one instruction, good to one rounding step."""
    if INTERPRETED:
        return 1.0 / x
    return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def exponential(x, QUICK: tl.constexpr):
    """e^x with a relative error of a rounding step or two over the whole range; of some 2^-19 if `QUICK`."""
    if INTERPRETED or QUICK:
        return tl.exp(x)
    return libdevice.exp(x)


@triton.jit
def quick_tanh(x):
    """tanh in one instruction, with a relative error of 2^-11: for bfloat16."""
    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def hyperbolic_tangent(x, QUICK: tl.constexpr):
    """tanh, `QUICK` in one instruction, otherwise good to a rounding step."""
    if INTERPRETED:  # which warns of an overflow; a NaN stays one
        return 1.0 - 2.0 / (1.0 + tl.exp(2.0 * tl.where(x > 44.0, 44.0, x)))
    if QUICK:
        return quick_tanh(x)
    return libdevice.tanh(x)


@triton.jit
def multiply(left, right, total, PRECISION: tl.constexpr):
    """total + left @ right."""
    if INTERPRETED:  # whose products know no bfloat16
        return tl.dot(left.to(tl.float32), right.to(tl.float32), total)
    return tl.dot(left, right, total, input_precision=PRECISION)


@triton.jit
def key_count(lengths, batch, keys, LENGTHS: tl.constexpr):
    """Number of leading keys of a sequence that count."""
    if LENGTHS:
        return tl.minimum(tl.load(lengths + batch).to(tl.int32), keys)
    return keys


@triton.jit
def allowed_pairs(t, s, queries, count, first, last, dense, stride_t, stride_s, DENSE: tl.constexpr):
    """[t, s]: a key of the sequence, in (t + first, t + last], and allowed by the dense part of the mask."""
    pairs = (t < queries)[:, None] & (s < count)[None, :]
    ahead = s[None, :] - t[:, None]
    pairs = pairs & (ahead <= last) & (ahead > first)
    if DENSE:
        pairs = pairs & (tl.load(dense + t[:, None] * stride_t + s[None, :] * stride_s, mask=pairs, other=0) != 0)
    return pairs


@triton.jit
def whole(t, s, count, first, last, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr):
    """Return whether all keys of a tile with this corner are in reach of all its queries, a dense mask aside."""
    return (s + BLOCK_S <= count) & (s + BLOCK_S - 1 - t <= last) & (s - (t + BLOCK_T - 1) > first)


@triton.jit
def meets(t, s, count, first, last, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr):
    """Return whether any key of a tile with this corner may be in reach of any of its queries, a dense mask aside."""
    return (s < count) & (s - (t + BLOCK_T - 1) <= last) & (s + BLOCK_S - 1 - t > first)


@triton.jit
def some(pairs):
    """Return whether any pair may meet."""
    return tl.max(tl.max(pairs.to(tl.int32), axis=1), axis=0) > 0
