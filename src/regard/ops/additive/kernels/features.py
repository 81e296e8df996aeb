"""Queries and keys as features, in float16, and shifts, in float32: dot product and shifts are the score.

tanh x ≈ α x + Σ_n c_n sin(ω_n x), so that v_a tanh(q_a + k_a) is a dot product of 2N features a hidden unit,

    query   v_a c_n sin(ω_n q_a),  v_a c_n cos(ω_n q_a)        shift   α Σ_a v_a q_a
    key           cos(ω_n k_a),          sin(ω_n k_a)                  α Σ_a v_a k_a

and a number for the whole row. v is divided by max|v|, so that float16 can represent what queries carry whatever the
size of v. Row layout: [n, sine or cosine, a].
"""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import INTERPRETED


@triton.jit
def features(
    query, key, weight, extremes, done, query_out, key_out, shifts, counters,
    heads, queries, keys, width, padded_t, padded_s, padded_width,
    q_b, q_h, q_row, q_a, k_b, k_h, k_row, k_a, turns, amplitudes, slope,
    TERMS: tl.constexpr, BLOCK: tl.constexpr, BLOCK_A: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """[B, H, rows, A] -> query_out [G·T', 2N·A'], key_out [G·S', 2N·A']; of units that pad, the queries' are zeros.

    `shifts` [G, T' + S'] are the queries' and then the keys'. `turns` are ω / 2π. `extremes` [2, G, 2, A], -inf at
    first, gets the largest x and the largest -x of the queries' units, then of the keys'. `done` [counters] gets zeros.
    The grid is blocks of rows, groups.
    """
    block, group = tl.program_id(0), tl.program_id(1).to(tl.int64)
    batch, head = group // heads, group % heads
    blocks = padded_t // BLOCK
    shifts += group * (padded_t + padded_s)
    weight += head * width
    largest = largest_weight(weight, width, WIDTH)
    if (block == 0) & (group == 0):
        for start in range(0, counters, BLOCK):
            place = start + tl.arange(0, BLOCK)
            tl.store(done + place, 0, mask=place < counters)
    if block < blocks:
        write_features(
            query + batch * q_b + head * q_h, query_out + group * padded_t * (2 * TERMS * padded_width), shifts,
            extremes + group * 2 * width, weight, largest, block, queries, width, padded_width, q_row, q_a,
            turns, amplitudes, slope, True, TERMS, BLOCK, BLOCK_A,
        )  # fmt: skip
    else:
        write_features(
            key + batch * k_b + head * k_h, key_out + group * padded_s * (2 * TERMS * padded_width), shifts + padded_t,
            extremes + (tl.num_programs(1) + group) * 2 * width, weight, largest, block - blocks, keys, width,
            padded_width, k_row, k_a, turns, amplitudes, slope, False, TERMS, BLOCK, BLOCK_A,
        )  # fmt: skip


@triton.jit
def write_features(
    source, out, shifts, extremes, weight, largest, block, rows, width, padded_width, stride_row, stride_a,
    turns, amplitudes, slope, QUERY: tl.constexpr, TERMS: tl.constexpr, BLOCK: tl.constexpr, BLOCK_A: tl.constexpr,
):  # fmt: skip
    """The features and shifts of a block of rows, `BLOCK_A` units at a time; `largest` is max|v|."""
    row = block * BLOCK + tl.arange(0, BLOCK)
    shift = tl.zeros([BLOCK], tl.float32)
    for start in range(0, padded_width, BLOCK_A):
        a = start + tl.arange(0, BLOCK_A)
        inside = (row < rows)[:, None] & (a < width)[None, :]
        x = tl.load(source + row[:, None] * stride_row + a[None, :] * stride_a, mask=inside, other=0.0).to(tl.float32)
        share = tl.load(weight + a, mask=a < width, other=0.0).to(tl.float32) / largest
        shift += tl.sum(x * share[None, :], axis=1)
        tl.atomic_max(extremes + a, tl.max(tl.where(inside, x, float("-inf")), axis=0), mask=a < width)
        tl.atomic_max(extremes + width + a, tl.max(tl.where(inside, -x, float("-inf")), axis=0), mask=a < width)
        place = out + row.to(tl.int64)[:, None] * (2 * TERMS * padded_width) + a[None, :]
        for n in tl.static_range(TERMS):
            sine, cosine = wave(x * turns[n])
            if QUERY:
                first, second = sine * (share * amplitudes[n])[None, :], cosine * (share * amplitudes[n])[None, :]
            else:
                first, second = cosine, sine
            tl.store(place + 2 * n * padded_width, first.to(tl.float16))
            tl.store(place + (2 * n + 1) * padded_width, second.to(tl.float16))
    tl.store(shifts + row, slope * shift)


@triton.jit
def wave(turns):
    """sin and cos of 2π `turns`, good to 2^-20; |turns| < 2^22."""
    whole = (turns + 12582912.0) - 12582912.0  # 1.5 · 2^23, whose next float32 is 1 away: rounds in two additions
    angle = 6.283185307179586 * (turns - whole)
    if INTERPRETED:
        return tl.sin(angle), tl.cos(angle)
    sine = tl.inline_asm_elementwise("sin.approx.ftz.f32 $0, $1;", "=f,f", [angle], tl.float32, True, 1)
    cosine = tl.inline_asm_elementwise("cos.approx.ftz.f32 $0, $1;", "=f,f", [angle], tl.float32, True, 1)
    return sine, cosine


@triton.jit
def largest_weight(weight, width, WIDTH: tl.constexpr):
    """max|v|, or 1 where all of v is zero; `WIDTH` is a power of two that `width` does not exceed."""
    a = tl.arange(0, WIDTH)
    largest = tl.max(tl.abs(tl.load(weight + a, mask=a < width, other=0.0).to(tl.float32)), axis=0)
    return tl.where(largest == 0.0, 1.0, largest)
