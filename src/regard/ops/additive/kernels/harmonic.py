"""Attention over harmonic features: energies on the tensor cores, an online softmax, the values.

A flash attention whose head is long, 2N·A features, and so has two loops: key tiles, and within each the features.
A key's shift is where the sum of its features starts; a query's, which no softmax sees, is added to the log-sum-exp.
Rows of all groups lie below each other, padded to whole tiles, so that tiles are loaded by the copy engine.
"""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import allowed_pairs, key_count, multiply
from regard.ops.additive.kernels.features import largest_weight


@triton.jit
def attend_features(
    query, key, value, shifts, weight, extremes, lengths, dense, context, lse, parts, levels, done,
    heads, queries, keys, width, padded_t, padded_s, depth, value_width, first, last, m_b, m_h, m_t, m_s, span, limit,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_D: tl.constexpr, WIDTH: tl.constexpr,
    PIECES: tl.constexpr, MASKED: tl.constexpr, LENGTHS: tl.constexpr, DENSE: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    """context [G, T, Dv] and lse [G, T] in float32; NaN in a group whose units leave `span`, or exceed `limit`.

    `query` [G·T', depth], `key` [G·S', depth] and `value` [G·S', Dv] are descriptors; `shifts` are [G, T' + S']. The
    grid is query blocks times `PIECES` of the keys, groups, blocks of Dv. A piece leaves its part in `parts` and
    `levels`; the last to arrive, as `done` counts, puts the parts together, in their order.
    """
    # Under a causal mask the last queries have most to read: they start first.
    turn = tl.num_programs(0) - 1 - tl.program_id(0)
    block, piece = turn // PIECES, turn % PIECES
    group = tl.program_id(1)
    batch, head = group // heads, group % heads
    t = block * BLOCK_T + tl.arange(0, BLOCK_T)
    d = tl.program_id(2) * BLOCK_D + tl.arange(0, BLOCK_D)
    count = key_count(lengths, batch, keys, LENGTHS)
    begin = tl.maximum(block * BLOCK_T + first + 1, 0) // BLOCK_S * BLOCK_S
    end = tl.minimum(count, block * BLOCK_T + BLOCK_T + last)
    each = tl.cdiv(tl.maximum(end - begin, 0), BLOCK_S * PIECES) * BLOCK_S
    begin += piece * each
    end = tl.minimum(end, begin + each)
    scale = largest_weight(weight + head * width, width, WIDTH) * 1.4426950408889634  # energies as powers of two
    shifts += group.to(tl.int64) * (padded_t + padded_s)
    highest = tl.full([BLOCK_T], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_T], tl.float32)
    read = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
    query_row, key_row = group * padded_t + block * BLOCK_T, group * padded_s
    for start in tl.range(begin, end, BLOCK_S, flatten=FLATTEN):
        shift = tl.load(shifts + padded_t + start + tl.arange(0, BLOCK_S))
        energy = tl.broadcast_to(shift[None, :], [BLOCK_T, BLOCK_S])
        for f in range(0, depth, BLOCK_F):
            energy = multiply(query.load([query_row, f]), key.load([key_row + start, f]).T, energy, "ieee")
        if MASKED:
            cut = (start + BLOCK_S > count) | (start + BLOCK_S > block * BLOCK_T + 1 + last)
            cut = cut | (start - block * BLOCK_T - BLOCK_T < first) | DENSE
            if cut:
                s = start + tl.arange(0, BLOCK_S)
                pairs = allowed_pairs(
                    t, s, queries, count, first, last, dense + batch.to(tl.int64) * m_b + head * m_h, m_t, m_s, DENSE
                )
                energy = tl.where(pairs, energy, float("-inf"))
        peak = tl.maximum(highest, scale * tl.max(energy, axis=1))
        level = peak
        if MASKED:
            level = tl.where(peak == float("-inf"), 0.0, peak)
        share = tl.exp2(tl.fma(energy, scale, -level[:, None]))
        shrink = tl.exp2(highest - level)
        total = total * shrink + tl.sum(share, axis=1)
        values = value.load([key_row + start, tl.program_id(2) * BLOCK_D])
        read = multiply(share.to(values.dtype), values, read * shrink[:, None], "ieee")
        highest = peak
    if not within(extremes + group * 2 * width, tl.num_programs(1) * 2 * width, width, span, limit, WIDTH):
        read += float("nan")
        total += float("nan")
    if PIECES == 1:
        finish(context, lse, shifts, scale, group, t, d, highest, total, read, queries, value_width)
    else:
        slot = (group * tl.num_programs(2) + tl.program_id(2)) * (tl.num_programs(0) // PIECES) + block
        row, column = tl.arange(0, BLOCK_T), tl.arange(0, BLOCK_D)
        places = row[:, None] * BLOCK_D + column[None, :]
        parts += slot.to(tl.int64) * PIECES * BLOCK_T * BLOCK_D
        levels += slot * PIECES * 2 * BLOCK_T
        tl.store(parts + piece * BLOCK_T * BLOCK_D + places, read)
        tl.store(levels + piece * 2 * BLOCK_T + row, highest)
        tl.store(levels + (piece * 2 + 1) * BLOCK_T + row, total)
        tl.debug_barrier()  # all of the part is written before it is counted
        if tl.atomic_add(done + slot, 1, sem="acq_rel") == PIECES - 1:
            highest = tl.full([BLOCK_T], float("-inf"), tl.float32)
            for other in range(PIECES):
                peak = tl.load(levels + other * 2 * BLOCK_T + row, cache_modifier=".cg")
                highest = tl.maximum(highest, peak)
            level = tl.where(highest == float("-inf"), 0.0, highest)
            total = tl.zeros([BLOCK_T], tl.float32)
            read = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
            for other in range(PIECES):
                shrink = tl.exp2(tl.load(levels + other * 2 * BLOCK_T + row, cache_modifier=".cg") - level)
                total += shrink * tl.load(levels + (other * 2 + 1) * BLOCK_T + row, cache_modifier=".cg")
                part = tl.load(parts + other * BLOCK_T * BLOCK_D + places, cache_modifier=".cg")
                read += shrink[:, None] * part
            finish(context, lse, shifts, scale, group, t, d, highest, total, read, queries, value_width)


@triton.jit
def finish(context, lse, shifts, scale, group, t, d, highest, total, read, queries, value_width):
    """Write what has been read, and its log-sum-exp; `shifts` are those of the queries."""
    context += group.to(tl.int64) * queries * value_width
    inside = (t < queries)[:, None] & (d < value_width)[None, :]
    total = tl.where(total == 0.0, 1.0, total)  # a row without keys: its context is zero, its log-sum-exp -inf
    tl.store(context + t[:, None] * value_width + d[None, :], read / total[:, None], mask=inside)
    if tl.program_id(2) == 0:
        powers = tl.fma(tl.load(shifts + t), scale, highest) + tl.log2(total)
        tl.store(lse + group * queries + t, 0.6931471805599453 * powers, mask=t < queries)


@triton.jit
def within(queries, step, width, span, limit, WIDTH: tl.constexpr):
    """Return whether |q_a + k_a| <= span and |q_a|, |k_a| <= limit, by the extremes of each unit; not so for NaN."""
    a = tl.arange(0, WIDTH)
    inside, keys = a < width, queries + step
    high, low = tl.load(queries + a, inside, 0.0), tl.load(queries + width + a, inside, 0.0)
    key_high, key_low = tl.load(keys + a, inside, 0.0), tl.load(keys + width + a, inside, 0.0)
    reach = tl.maximum(tl.max(high + key_high, axis=0), tl.max(low + key_low, axis=0))
    size = tl.maximum(tl.maximum(tl.max(high, axis=0), tl.max(low, axis=0)),
                      tl.maximum(tl.max(key_high, axis=0), tl.max(key_low, axis=0)))  # fmt: skip
    return (reach <= span) & (size <= limit)
