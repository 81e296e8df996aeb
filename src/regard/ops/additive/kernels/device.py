"""Special functions of the GPU, and their substitutes in Triton's interpreter."""

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
