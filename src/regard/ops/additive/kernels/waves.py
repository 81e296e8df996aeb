"""Sines and cosines of n ω x for n = 1, 2, 3 ..., made in registers.

    z_{n+1} = 2 cos(ω x) z_n - z_{n-1},     z_n = (sin n ω x, cos n ω x)

is one instruction of float16 for both: a sine and a cosine are asked for once, for n = 1. A row of features has, for
each unit, the two of them next to each other.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def query_features(x, share, frequency, amplitudes, TERMS: gl.constexpr, layout: gl.constexpr):
    """v_a c_n (sin n ω x, cos n ω x), one tensor [rows, 2 units] a term, as the left side of a product."""
    sine, cosine = wave(frequency * x)
    twice = (2.0 * cosine).to(gl.float16)
    turn = gl.join(twice, twice)
    before = gl.join(gl.zeros_like(twice), share.to(gl.float16))
    now = gl.join((sine * share).to(gl.float16), (cosine * share).to(gl.float16))
    made = (as_left(now, amplitudes[0], layout),)
    for n in gl.static_range(1, TERMS):
        before, now = now, after(turn, now, before)
        made = made + (as_left(now, amplitudes[n], layout),)
    return made


@gluon.jit
def as_left(wave, amplitude, layout: gl.constexpr):
    scaled = times(wave, gl.zeros_like(wave) + amplitude.to(gl.float16))
    return gl.convert_layout(gl.reshape(scaled, [scaled.shape[0], 2 * scaled.shape[1]]), layout, assert_trivial=True)


@gluon.jit
def key_features(x, buffers, frequency, TERMS: gl.constexpr):
    """(cos n ω x, sin n ω x) into the buffers, one a term."""
    sine, cosine = wave(frequency * x)
    twice = (2.0 * cosine).to(gl.float16)
    turn = gl.join(twice, twice)
    before = gl.join(gl.zeros_like(twice) + 1.0, gl.zeros_like(twice))
    now = gl.join(cosine.to(gl.float16), sine.to(gl.float16))
    for n in gl.static_range(TERMS):
        buffers[n].store(gl.reshape(now, [x.shape[0], 2 * x.shape[1]]))
        if n < TERMS - 1:
            before, now = now, after(turn, now, before)


@gluon.jit
def wave(angle):
    """sin and cos in an instruction each, which rounds the angle, as a number of turns, to float32."""
    sine = gl.inline_asm_elementwise("sin.approx.ftz.f32 $0, $1;", "=f,f", [angle], gl.float32, True, 1)
    cosine = gl.inline_asm_elementwise("cos.approx.ftz.f32 $0, $1;", "=f,f", [angle], gl.float32, True, 1)
    return sine, cosine


@gluon.jit
def after(turn, now, before):
    """turn · now - before, two of float16 at a time."""
    return gl.inline_asm_elementwise(
        "{ .reg .b32 minus; neg.f16x2 minus, $3; fma.rn.f16x2 $0, $1, $2, minus; }",
        "=r,r,r,r", [turn, now, before], gl.float16, True, 2,
    )  # fmt: skip


@gluon.jit
def times(left, right):
    """left · right, two of float16 at a time."""
    return gl.inline_asm_elementwise("mul.rn.f16x2 $0, $1, $2;", "=r,r,r", [left, right], gl.float16, True, 2)
