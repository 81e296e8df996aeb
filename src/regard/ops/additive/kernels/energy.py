"""e_ts = Σ_a v_a tanh(q_ta + k_sa + (P f_ts)_a) of one tile of queries and keys, in registers.

One hidden unit after the other is added to a tile [T, S]: a column of queries and a row of keys, both contiguous in
memory because they lie transposed, and no sum across threads. Two ways to a tanh:

`direct`   1 addition, 1 tanh (special-function unit), 1 multiply-add for each element.
`product`  tanh(q + k) = 1 - 2 / (1 + e^2q e^2k), the exponentials made once for each row. Fractions are added before
           they are divided: v1/d1 + v2/d2 = (v1 d2 + v2 d1) / (d1 d2), so that two elements share one reciprocal (or
           four, with `GROUP` 4): 3 multiply-adds and half a reciprocal for each element. Special functions come at an
           eighth of the rate of multiply-adds: two elements to one balance both.
"""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import exponential, hyperbolic_tangent, reciprocal


@triton.jit
def product(query, key, weight, query_step, key_step, width, even_width, BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr,
            GROUP: tl.constexpr):  # fmt: skip
    """Σ_a v_a / (1 + e^2q_a e^2k_a). `query` [T], `key` [S]: pointers to the exponentials of the first hidden unit."""
    total = tl.zeros([BLOCK_T, BLOCK_S], tl.float32)
    for a in range(0, even_width, 4):
        top, bottom = fractions(query, key, weight, query_step, key_step, a, width)
        lower_top, lower_bottom = fractions(
            query + 2 * query_step, key + 2 * key_step, weight, query_step, key_step, a + 2, width
        )
        if GROUP == 4:
            top = tl.fma(top, lower_bottom, lower_top * bottom)
            total = tl.fma(top, reciprocal(bottom * lower_bottom), total)
        else:
            total = tl.fma(top, reciprocal(bottom), total)
            total = tl.fma(lower_top, reciprocal(lower_bottom), total)
        query += 4 * query_step
        key += 4 * key_step
    return total


@triton.jit
def fractions(query, key, weight, query_step, key_step, a, width):
    """v1/d1 + v2/d2 of two hidden units as one fraction: its numerator and its denominator, [T, S]."""
    first = tl.load(weight + a, mask=a < width, other=0.0).to(tl.float32)
    second = tl.load(weight + a + 1, mask=a + 1 < width, other=0.0).to(tl.float32)
    one = tl.fma(tl.load(query)[:, None], tl.load(key)[None, :], 1.0)
    two = tl.fma(tl.load(query + query_step)[:, None], tl.load(key + key_step)[None, :], 1.0)
    return tl.fma(two, first, one * second), one * two


@triton.jit
def direct(query, key, weight, query_step, key_step, width, features, feature_weight, feature_count,
           BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, FEATURES: tl.constexpr, QUICK: tl.constexpr,
           UNROLL: tl.constexpr):  # fmt: skip
    """Σ_a v_a tanh(z_a). `query` [T], `key` [S]: pointers to the first hidden unit; `features` [T, S, FEATURES]."""
    total = tl.zeros([BLOCK_T, BLOCK_S], tl.float32)
    for a in tl.range(0, width, loop_unroll_factor=UNROLL):
        inside = tl.load(query).to(tl.float32)[:, None] + tl.load(key).to(tl.float32)[None, :]
        if FEATURES:
            inside += mapped(features, feature_weight + a * feature_count, feature_count, FEATURES)
        v = tl.load(weight + a).to(tl.float32)
        total = tl.fma(hyperbolic_tangent(inside, QUICK), v, total)
        query += query_step
        key += key_step
    return total


@triton.jit
def mapped(features, row, count, FEATURES: tl.constexpr):
    """(P f)_a of a tile, [T, S]; `row` points to P_a."""
    f = tl.arange(0, FEATURES)
    return tl.sum(features * tl.load(row + f, mask=f < count, other=0.0)[None, None, :], axis=2)


@triton.jit
def feature_tile(start, t, s, queries, keys, stride_t, stride_s, stride_f, count, FEATURES: tl.constexpr):
    """The features of a tile, [T, S, FEATURES], zeros outside."""
    f = tl.arange(0, FEATURES)
    inside = (t < queries)[:, None, None] & (s < keys)[None, :, None] & (f < count)[None, None, :]
    place = t[:, None, None] * stride_t + s[None, :, None] * stride_s + f[None, None, :] * stride_f
    return tl.load(start + place, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def energies(
    across_q, across_k, bound_q, bound_k, query, key, weight, weight_total, feature_weight, features,
    group, head, first_t, first_s, queries, keys, width, even_width, padded_t, padded_s,
    q_start, q_row, q_a, k_start, k_row, k_a, feature_count,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, GROUP: tl.constexpr, LIMIT: tl.constexpr,
    FEATURES: tl.constexpr, QUICK: tl.constexpr, GRANULE: tl.constexpr,
):  # fmt: skip
    """The energies of a tile [T, S], unmasked.

    `weight` points to v of the head, `weight_total` is its sum. `across_q`, `across_k` [G, slices, even A, GRANULE]:
    exponentials with `GROUP` 2 or 4, with 0 what they are exponentials of. The product is taken where
    |q| + |k| <= LIMIT in the whole group, so that the product of GROUP denominators is a float32 number; elsewhere the
    direct way, from `query` and `key` themselves.
    """
    # One scalar, then a range: so the loads of a thread share an address.
    units = across_q + corner(group * padded_t, first_t, even_width, GRANULE) + tl.arange(0, BLOCK_T)
    # Keys said not to be contiguous, so that a thread with two of them has not neighbours, which would change hands.
    others = across_k + corner(group * padded_s, first_s, even_width, GRANULE)
    others += tl.max_contiguous(tl.arange(0, BLOCK_S), 1)
    maps = feature_weight + head * width * feature_count
    if GROUP == 0:
        energy = direct(units, others, weight, GRANULE, GRANULE, width, features, maps, feature_count,
                        BLOCK_T, BLOCK_S, FEATURES, QUICK, 4)  # fmt: skip
    elif tl.load(bound_q + group) + tl.load(bound_k + group) <= LIMIT:
        shares = product(units, others, weight, GRANULE, GRANULE, width, even_width, BLOCK_T, BLOCK_S, GROUP)
        energy = weight_total - 2.0 * shares
    else:  # rows past the end read the last row, so that no load needs a mask
        direct_q = query + q_start + tl.minimum(first_t + tl.arange(0, BLOCK_T), queries - 1) * q_row
        direct_k = key + k_start + tl.minimum(first_s + tl.arange(0, BLOCK_S), keys - 1) * k_row
        energy = direct(direct_q, direct_k, weight, q_a, k_a, width, features, maps, feature_count,
                        BLOCK_T, BLOCK_S, 0, QUICK, 1)  # fmt: skip
    return energy


@triton.jit
def corner(rows, first, even_width, GRANULE: tl.constexpr):
    """Address of the first hidden unit of row `first`, a multiple of 16, behind `rows` of other groups."""
    return tl.multiple_of((rows + first // GRANULE * GRANULE) * even_width + first % GRANULE, 16)


@triton.jit
def weight_sum(weight, width, WIDTH: tl.constexpr):
    """Σ_a v_a; `WIDTH` is a power of two that `width` does not exceed."""
    a = tl.arange(0, WIDTH)
    return tl.sum(tl.load(weight + a, mask=a < width, other=0.0).to(tl.float32), axis=0)


@triton.jit
def weight_size(weight, width, WIDTH: tl.constexpr):
    """Σ_a |v_a|, which no energy exceeds."""
    a = tl.arange(0, WIDTH)
    return tl.sum(tl.abs(tl.load(weight + a, mask=a < width, other=0.0).to(tl.float32)), axis=0)


@triton.jit
def prepare(
    source, across, along, bound,
    rows, width, heads, padded_rows, padded_width, even_width,
    stride_b, stride_h, stride_row, stride_a,
    EXPONENTIAL: tl.constexpr, ALONG: tl.constexpr, GRANULE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_A: tl.constexpr,
):  # fmt: skip
    """source [B, H, rows, A] -> across [G, slices, even A, GRANULE], along [G, padded rows, padded A], padded with 0.

    `bound` [G] is the largest |entry| of each group.
    """
    group = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = source + (group // heads) * stride_b + (group % heads) * stride_h
    largest = tl.zeros([BLOCK], tl.float32)
    for first in range(0, padded_width, BLOCK_A):
        a = first + tl.arange(0, BLOCK_A)
        inside = (row < rows)[:, None] & (a < width)[None, :]
        entry = tl.load(start + row[:, None] * stride_row + a[None, :] * stride_a, mask=inside, other=0.0)
        entry = entry.to(tl.float32)
        largest = tl.maximum(largest, tl.max(tl.abs(entry), axis=1))
        if EXPONENTIAL:  # beyond 22 the product is not taken; a NaN stays one
            entry = tl.where(entry > 22.0, 22.0, tl.where(entry < -22.0, -22.0, entry))
            entry = tl.where(inside, exponential(2.0 * entry, False), 0.0)
        place = group * even_width * padded_rows + a[None, :] * GRANULE + (row % GRANULE)[:, None]
        place += (row // GRANULE)[:, None] * even_width * GRANULE
        tl.store(across + place, entry, mask=(a < even_width)[None, :] & (row < padded_rows)[:, None])
        if ALONG:
            place = (group * padded_rows + row)[:, None] * padded_width + a[None, :]
            tl.store(along + place, entry, mask=(row < padded_rows)[:, None] & (a < padded_width)[None, :])
    tl.atomic_max(bound + group, tl.max(largest, axis=0))
