"""Context and log-sum-exp: a block of queries reads all keys, tile by tile, with an online softmax."""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import multiply
from regard.ops.additive.kernels.energy import energies, feature_tile, weight_sum
from regard.ops.additive.kernels.pairs import allowed_pairs, key_count, some


@triton.jit
def attend(
    across_q, across_k, bound_q, bound_k, query, key, weight, feature_weight, features, lengths, dense,
    value, context, lse,
    heads, queries, keys, width, even_width, padded_t, padded_s, value_width, feature_count, first, last,
    q_b, q_h, q_row, q_a, k_b, k_h, k_row, k_a, f_b, f_h, f_t, f_s, f_f, m_b, m_h, m_t, m_s, v_b, v_h, v_s, v_d,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr, LIMIT: tl.constexpr,
    FEATURES: tl.constexpr, QUICK: tl.constexpr, LENGTHS: tl.constexpr, DENSE: tl.constexpr,
    WIDTH: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """context [G, T, Dv] and lse [G, T] in float32; the grid is query blocks, groups, blocks of Dv."""
    # Under a causal mask the last queries have most to read: they start first.
    block = tl.num_programs(0) - 1 - tl.program_id(0)
    group = tl.program_id(1).to(tl.int64)
    batch, head = group // heads, group % heads
    t = block * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    count = key_count(lengths, batch, keys, LENGTHS)
    begin = tl.maximum(block * BLOCK_T + first + 1, 0) // BLOCK_S * BLOCK_S
    end = tl.minimum(count, block * BLOCK_T + BLOCK_T + last)
    weights = weight + head * width
    weight_total = weight_sum(weights, width, WIDTH)
    highest = tl.full([BLOCK_T], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_T], tl.float32)
    read = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
    for start in range(begin, end, BLOCK_S):
        s = start + tl.arange(0, BLOCK_S)
        pairs = allowed_pairs(
            t, s, queries, count, first, last, dense + batch * m_b + head * m_h, m_t, m_s, DENSE
        )  # fmt: skip
        live = start < end
        if DENSE:
            live = some(pairs)
        if live:
            tile = 0.0
            if FEATURES:
                place = features + batch * f_b + head * f_h
                tile = feature_tile(place, t, s, queries, keys, f_t, f_s, f_f, feature_count, FEATURES)
            energy = energies(
                across_q, across_k, bound_q, bound_k, query, key, weights, weight_total, feature_weight, tile,
                group, head, block * BLOCK_T, start, queries, keys, width, even_width, padded_t, padded_s,
                batch * q_b + head * q_h, q_row, q_a, batch * k_b + head * k_h, k_row, k_a, feature_count,
                BLOCK_T, BLOCK_S, GROUP, LIMIT, FEATURES, QUICK,
            )  # fmt: skip
            energy = tl.where(pairs, energy, float("-inf"))
            peak = tl.maximum(highest, tl.max(energy, axis=1))
            level = tl.where(peak == float("-inf"), 0.0, peak)
            share = tl.exp(energy - level[:, None])
            shrink = tl.exp(highest - level)
            inside = (s < keys)[:, None] & (d < value_width)[None, :]
            values = tl.load(
                value + batch * v_b + head * v_h + s[:, None] * v_s + d[None, :] * v_d, mask=inside, other=0.0
            )
            total = total * shrink + tl.sum(share, axis=1)
            read = read * shrink[:, None]
            rounded = share.to(values.dtype)
            read = multiply(rounded, values, read, PRECISION)
            if (
                values.dtype != tl.float32
            ):  # what half precision has cut off the weights, so that only the context is rounded
                read = multiply((share - rounded.to(tl.float32)).to(values.dtype), values, read, PRECISION)
            highest = peak
    context += group * queries * value_width
    inside = (t < queries)[:, None] & (d < value_width)[None, :]
    total = tl.where(total == 0.0, 1.0, total)  # a row without keys: its context is zero, its log-sum-exp -inf
    read = read / total[:, None]
    tl.store(context + t[:, None] * value_width + d[None, :], read, mask=inside)
    if tl.program_id(2) == 0:
        tl.store(lse + group * queries + t, highest + tl.log(total), mask=t < queries)
