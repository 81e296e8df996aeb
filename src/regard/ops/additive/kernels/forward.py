"""Context and log-sum-exp: a block of queries reads all keys, tile by tile, with an online softmax."""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import allowed_pairs, exponential, key_count, multiply, some, whole
from regard.ops.additive.kernels.energy import energies, feature_tile, weight_size, weight_sum


@triton.jit
def attend(
    across_q, across_k, bound_q, bound_k, query, key, weight, feature_weight, features, lengths, dense,
    value, context, levels, totals,
    heads, queries, keys, width, even_width, padded_t, padded_s, value_width, feature_count, first, last,
    q_b, q_h, q_row, q_a, k_b, k_h, k_row, k_a, f_b, f_h, f_t, f_s, f_f, m_b, m_h, m_t, m_s, v_b, v_h, v_s, v_d,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr, LIMIT: tl.constexpr,
    FEATURES: tl.constexpr, QUICK: tl.constexpr, LENGTHS: tl.constexpr, DENSE: tl.constexpr,
    WIDTH: tl.constexpr, GRANULE: tl.constexpr, PRECISION: tl.constexpr, CALM: tl.constexpr,
):  # fmt: skip
    """context [G, T, Dv] and the softmax of each row, a = exp(e - level) / total, [G, T], in float32.

    The grid is query blocks, groups, blocks of Dv.
    """
    # Under a causal mask the last queries have most to read: they start first.
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    group = tl.program_id(1).to(tl.int64)
    batch, head = group // heads, group % heads
    t = block * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    count = key_count(lengths, batch, keys, LENGTHS)
    begin = tl.maximum(block * BLOCK_T + first + 1, 0) // BLOCK_S * BLOCK_S
    end = tl.minimum(count, block * BLOCK_T + BLOCK_T + last)
    half: tl.constexpr = value.dtype.element_ty != tl.float32
    weights = weight + head * width
    weight_total = weight_sum(weights, width, WIDTH)
    masks = dense + batch * m_b + head * m_h
    # |e| <= Σ|v|: where that is small no exponential overflows, and no row needs its largest energy taken off first.
    calm = CALM and (weight_size(weights, width, WIDTH) <= 40.0)
    highest = tl.full([BLOCK_T], float("-inf"), tl.float32)
    if calm:
        highest = tl.zeros([BLOCK_T], tl.float32)
    total = tl.zeros([BLOCK_T], tl.float32)
    read = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
    for start in range(begin, end, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        live = start < end
        if DENSE:
            live = some(allowed_pairs(t, s, queries, count, first, last, masks, m_t, m_s, DENSE))
        if live:
            tile = 0.0
            if FEATURES:
                place = features + batch * f_b + head * f_h
                tile = feature_tile(place, t, s, queries, keys, f_t, f_s, f_f, feature_count, FEATURES)
            energy = energies(
                across_q, across_k, bound_q, bound_k, query, key, weights, weight_total, feature_weight, tile,
                group, head, block * BLOCK_T, start, queries, keys, width, even_width, padded_t, padded_s,
                batch * q_b + head * q_h, q_row, q_a, batch * k_b + head * k_h, k_row, k_a, feature_count,
                BLOCK_T, BLOCK_S, GROUP, LIMIT, FEATURES, QUICK, GRANULE,
            )  # fmt: skip
            if DENSE or not whole(block * BLOCK_T, start, count, first, last, BLOCK_T, BLOCK_S):
                pairs = allowed_pairs(t, s, queries, count, first, last, masks, m_t, m_s, DENSE)
                energy = tl.where(pairs, energy, float("-inf"))
            if not calm:
                peak = tl.maximum(highest, tl.max(energy, axis=1))
                level = tl.where(peak == float("-inf"), 0.0, peak)
                shrink = exponential(highest - level, half)
                total *= shrink
                read *= shrink[:, None]
                energy -= level[:, None]
                highest = peak
            share = exponential(energy, half)
            inside = (s < keys)[:, None] & (d < value_width)[None, :]
            values = tl.load(
                value + batch * v_b + head * v_h + s[:, None] * v_s + d[None, :] * v_d, mask=inside, other=0.0
            )
            total += tl.sum(share, axis=1)
            rounded = share.to(values.dtype)
            read = multiply(rounded, values, read, PRECISION)
            if half:  # what half precision has cut off the weights, so that only the context is rounded
                read = multiply((share - rounded.to(tl.float32)).to(values.dtype), values, read, PRECISION)
    context += group * queries * value_width
    inside = (t < queries)[:, None] & (d < value_width)[None, :]
    total = tl.where(total == 0.0, 1.0, total)  # a row without keys: its context is zero
    tl.store(context + t[:, None] * value_width + d[None, :], read / total[:, None], mask=inside)
    if tl.program_id(2) == 0:
        place = group * queries + t
        tl.store(levels + place, tl.where(highest == float("-inf"), 0.0, highest), mask=t < queries)
        tl.store(totals + place, total, mask=t < queries)
