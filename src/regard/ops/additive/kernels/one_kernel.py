"""Harmonic attention in one kernel: features are made while the tensor cores multiply the ones before.

A program has 128 queries and 256 keys, and makes their features 8 hidden units at a time: those of the queries in the
registers that a product reads, those of the keys in shared memory, in two buffers in turn. The frequencies are n ω, and

    z_{n+1} = 2 cos(ω x) z_n - z_{n-1},     z_n = (sin n ω x, cos n ω x)

is one instruction of float16 for both: a sine and a cosine are asked for once, for n = 1. A row of features has, for
each unit, the two of them next to each other. The energies of all 256 keys are there before their softmax, so that it
needs no second look. Where there are two tiles of keys, the first program leaves what it read, and the second, which
is never started before it, puts both together.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait

ROWS = gl.constexpr(128)
KEYS = gl.constexpr(256)
UNITS = gl.constexpr(8)
WARPS = gl.constexpr(8)


@gluon.jit
def attend_on_the_way(
    query, key, value, weight, lengths, context, lse, parts, levels, done,
    heads, queries, keys, q_b, q_h, q_row, k_b, k_h, k_row, v_b, v_h, v_row, first, last,
    frequency, amplitudes, slope, span, limit,
    WIDTH: gl.constexpr, POWER: gl.constexpr, TERMS: gl.constexpr, BLOCK_D: gl.constexpr, PIECES: gl.constexpr,
    MASKED: gl.constexpr, LENGTHS: gl.constexpr, CHECK: gl.constexpr, SAVE: gl.constexpr,
):  # fmt: skip
    """context [G, T, Dv], with `SAVE` also lse [G, T]; with `CHECK` NaN where units leave `span` or exceed `limit`.

    The grid is query blocks times `PIECES` tiles of keys, groups. `WIDTH` is a multiple of 16, `POWER` the power of two
    at or above; Dv is `BLOCK_D`, a power of two from 16 to 128. `done` has a zero for each block of each group.
    """
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, KEYS, 16])
    reads: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, BLOCK_D, 16])
    # A thread has rows r and r + 8, units a and a + 4: what it needs to be the left side of a product.
    by_query: gl.constexpr = gl.DistributedLinearLayout(
        [[8, 0], [0, 4]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0], [64, 0]], [], [ROWS, UNITS]
    )
    by_key: gl.constexpr = gl.BlockedLayout([1, UNITS], [32, 1], [WARPS, 1], [1, 0])
    left: gl.constexpr = gl.DotOperandLayout(0, sums, 2)

    block, piece = gl.program_id(0) // PIECES, gl.program_id(0) % PIECES
    group = gl.program_id(1).to(gl.int64)
    batch, head = group // heads, group % heads
    count = keys
    if LENGTHS:
        count = gl.minimum(gl.load(lengths + batch).to(gl.int32), keys)
    begin, end = block * ROWS + first + 1, gl.minimum(count, block * ROWS + ROWS + last)
    start, beside = piece * KEYS, (1 - piece) * KEYS
    mine = (start < end) & (start + KEYS > begin)
    other = (PIECES == 2) & (beside < end) & (beside + KEYS > begin)
    if mine | ((piece == 0) & (other == 0)):
        at_q, at_k = gl.arange(0, ROWS, gl.SliceLayout(1, by_query)), gl.arange(0, KEYS, gl.SliceLayout(1, by_key))
        unit_q, unit_k = (
            gl.arange(0, UNITS, gl.SliceLayout(0, by_query)),
            gl.arange(0, UNITS, gl.SliceLayout(0, by_key)),
        )
        query += batch * q_b + head * q_h + block.to(gl.int64) * ROWS * q_row
        key += batch * k_b + head * k_h + start.to(gl.int64) * k_row
        asked, kept = query + at_q[:, None] * q_row + unit_q[None, :], key + at_k[:, None] * k_row + unit_k[None, :]
        weight += head * WIDTH
        weigh_q, weigh_k = weight + unit_q, weight + unit_k
        there_q, there_k = (block * ROWS + at_q < queries)[:, None], (start + at_k < keys)[:, None]
        next_q, next_k = gl.load(asked, there_q, 0.0), gl.load(kept, there_k, 0.0)
        share_q, share_k = gl.load(weigh_q), gl.load(weigh_k)
        largest = largest_weight(weight, WIDTH, POWER)
        inverse = 1.0 / largest
        first_buffer, second_buffer = buffers(TERMS), buffers(TERMS)
        widest_q, widest_k = next_q, next_k
        x, y = next_q.to(gl.float32), next_k.to(gl.float32)
        line_q, line_k = x * share_q.to(gl.float32)[None, :], dot(y, share_k)
        next_q, next_k = gl.load(asked + UNITS, there_q, 0.0), gl.load(kept + UNITS, there_k, 0.0)
        features = query_features(x, share_q.to(gl.float32) * inverse, frequency, amplitudes, TERMS, left)
        key_features(y, first_buffer, frequency, TERMS)
        share_q, share_k = gl.load(weigh_q + UNITS), gl.load(weigh_k + UNITS)
        energy = gl.full([ROWS, KEYS], 0.0, gl.float32, sums)
        fence_async_shared()
        energy = multiply(features, first_buffer, energy, TERMS)
        value += batch * v_b + head * v_h + start.to(gl.int64) * v_row
        values = on_its_way(value, v_row, keys - start, BLOCK_D)
        for unit in range(2 * UNITS, WIDTH, 2 * UNITS):
            x, y, widest_q, widest_k, line_q, line_k = noted(
                next_q, next_k, share_q, share_k, widest_q, widest_k, line_q, line_k, CHECK, SAVE
            )
            next_q, next_k = gl.load(asked + unit, there_q, 0.0), gl.load(kept + unit, there_k, 0.0)
            key_features(y, second_buffer, frequency, TERMS)
            later = query_features(x, share_q.to(gl.float32) * inverse, frequency, amplitudes, TERMS, left)
            share_q, share_k = gl.load(weigh_q + unit), gl.load(weigh_k + unit)
            fence_async_shared()
            energy = multiply(later, second_buffer, finished(energy, features), TERMS)
            x, y, widest_q, widest_k, line_q, line_k = noted(
                next_q, next_k, share_q, share_k, widest_q, widest_k, line_q, line_k, CHECK, SAVE
            )
            next_q, next_k = (
                gl.load(asked + unit + UNITS, there_q, 0.0), gl.load(kept + unit + UNITS, there_k, 0.0)
            )  # fmt: skip
            key_features(y, first_buffer, frequency, TERMS)
            features = query_features(x, share_q.to(gl.float32) * inverse, frequency, amplitudes, TERMS, left)
            share_q, share_k = gl.load(weigh_q + unit + UNITS), gl.load(weigh_k + unit + UNITS)
            fence_async_shared()
            energy = multiply(features, first_buffer, finished(energy, later), TERMS)
        x, y = next_q.to(gl.float32), next_k.to(gl.float32)
        key_features(y, second_buffer, frequency, TERMS)
        later = query_features(x, share_q.to(gl.float32) * inverse, frequency, amplitudes, TERMS, left)
        fence_async_shared()
        energy = multiply(later, second_buffer, finished(energy, features), TERMS)
        # While the last product is made:
        line_k = slope * inverse * (line_k + dot(y, share_k))
        shift = gl.convert_layout(line_k, gl.SliceLayout(0, sums))
        if SAVE:
            line_q = slope * inverse * gl.sum(line_q + x * share_q.to(gl.float32)[None, :], axis=1)
            own = gl.convert_layout(line_q, gl.SliceLayout(1, reads))
        if CHECK:
            reach_q, reach_k = largest_entry(larger(widest_q, next_q)), largest_entry(larger(widest_k, next_k))
            promise_kept = (reach_q + reach_k <= span) & (gl.maximum(reach_q, reach_k) <= limit)
        energy = finished(energy, later) + shift[None, :]

        if MASKED:
            s = start + gl.arange(0, KEYS, gl.SliceLayout(0, sums))
            ahead = s[None, :] - (block * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, sums)))[:, None]
            energy = gl.where((s < count)[None, :] & (ahead <= last) & (ahead > first), energy, float("-inf"))
        scale = largest * 1.4426950408889634  # energies as powers of two
        read, highest, total = read_values(energy, scale, values, MASKED)
        if CHECK:
            if promise_kept == 0:  # by the largest of all units; each by itself may still be near enough
                promise_kept = within(
                    query, q_row, gl.minimum(queries - block * ROWS, ROWS), key, k_row, gl.minimum(keys - start, KEYS),
                    span, limit, WIDTH, POWER,
                )  # fmt: skip
            total += gl.where(promise_kept, 0.0, float("nan"))

        row, d = gl.arange(0, ROWS, gl.SliceLayout(1, reads)), gl.arange(0, BLOCK_D, gl.SliceLayout(0, reads))
        places = row[:, None] * BLOCK_D + d[None, :]
        slot = group * (gl.num_programs(0) // PIECES) + block
        parts += slot * ROWS * BLOCK_D
        levels += slot * 2 * ROWS
        if PIECES == 2:
            if other & (piece == 0):
                leave(read, highest, total, parts + places, levels + row, done + slot)
            if other & (piece == 1):
                read, highest, total = put_together(read, highest, total, parts + places, levels + row, done + slot)
        if (other == 0) | (piece == 1):
            t = block * ROWS + row
            total = gl.where(total == 0.0, 1.0, total)  # a row without keys: its context is zero
            context += (group * queries + block * ROWS) * BLOCK_D
            gl.store(context + places, (read / total[:, None]).to(context.dtype.element_ty), (t < queries)[:, None])
            if SAVE:
                powers = own * scale + highest + gl.log2(total)
                gl.store(lse + group * queries + t, 0.6931471805599453 * powers, t < queries)


@gluon.jit
def on_its_way(value, stride, count, BLOCK_D: gl.constexpr):
    """Shared memory that `count` rows of values are copied into, zeros behind them, while other work goes on."""
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [256 // BLOCK_D, BLOCK_D // 8], [WARPS, 1], [1, 0])
    row, column = gl.arange(0, KEYS, gl.SliceLayout(1, layout)), gl.arange(0, BLOCK_D, gl.SliceLayout(0, layout))
    room = gl.allocate_shared_memory(
        value.dtype.element_ty, [KEYS, BLOCK_D], gl.NVMMASharedLayout(min(128, 2 * BLOCK_D), 16, 2)
    )
    async_copy.async_copy_global_to_shared(
        room, value + row[:, None] * stride + column[None, :], mask=(row < count)[:, None]
    )  # fmt: skip
    async_copy.commit_group()
    return room


@gluon.jit
def read_values(energy, scale, values, MASKED: gl.constexpr):
    """Σ_s 2^(scale e_ts - level_t) value_s, level_t, -inf for a row of nothing, and Σ_s 2^(scale e_ts - level_t).

    In two halves, so that the values of one are read while the powers of the other are made.
    """
    half: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, KEYS // 2, 16])
    reads: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, values.shape[1], 16])
    side: gl.constexpr = gl.DotOperandLayout(0, reads, 2)
    highest = scale * gl.max(energy, axis=1)
    level = highest
    if MASKED:
        level = gl.where(highest == float("-inf"), 0.0, highest)
    level = gl.convert_layout(level, gl.SliceLayout(1, half), assert_trivial=True)
    near, far = gl.split(gl.permute(gl.reshape(energy, [ROWS, 2, KEYS // 2]), (0, 2, 1)))
    near = gl.convert_layout(near, half, assert_trivial=True)
    far = gl.convert_layout(far, half, assert_trivial=True)
    async_copy.wait_group(0)
    fence_async_shared()
    gl.thread_barrier()
    near = gl.exp2(near * scale - level[:, None])
    near_side = gl.convert_layout(near.to(values.dtype), side)
    read = gl.full([ROWS, values.shape[1]], 0.0, gl.float32, reads)
    read = warpgroup_mma(near_side, values.slice(0, KEYS // 2), read, is_async=True)
    far = gl.exp2(far * scale - level[:, None])
    far_side = gl.convert_layout(far.to(values.dtype), side)
    read = warpgroup_mma(far_side, values.slice(KEYS // 2, KEYS // 2), read, is_async=True)
    total = gl.convert_layout(gl.sum(near, axis=1) + gl.sum(far, axis=1), gl.SliceLayout(1, reads))
    highest = gl.convert_layout(highest, gl.SliceLayout(1, reads))
    read = warpgroup_mma_wait(0, [read, near_side, far_side])[0]
    return read, highest, total


@gluon.jit
def leave(read, highest, total, part, level, done):
    """Write what was read, for the program that has the other keys, and then say so."""
    gl.store(part, read)
    gl.store(level, highest)
    gl.store(level + ROWS, total)
    gl.thread_barrier()  # all of it is written before it is said to be
    gl.atomic_xchg(done, 1, sem="release")


@gluon.jit
def put_together(read, highest, total, part, level, done):
    """Both programs' share, when the other has said that its own is there."""
    while gl.atomic_add(done, 0, sem="acquire") == 0:
        pass
    theirs = gl.load(level, cache_modifier=".cg")
    top = gl.maximum(highest, theirs)
    floor = gl.where(top == float("-inf"), 0.0, top)
    shrink, fade = gl.exp2(highest - floor), gl.exp2(theirs - floor)
    total = shrink * total + fade * gl.load(level + ROWS, cache_modifier=".cg")
    read = shrink[:, None] * read + fade[:, None] * gl.load(part, cache_modifier=".cg")
    gl.atomic_xchg(done, 0, sem="relaxed")
    return read, top, total


@gluon.jit
def buffers(TERMS: gl.constexpr):
    """Room for the features of the keys, one a term."""
    layout: gl.constexpr = gl.NVMMASharedLayout(4 * UNITS, 16, 2)
    made = (gl.allocate_shared_memory(gl.float16, [KEYS, 2 * UNITS], layout),)
    for _ in gl.static_range(TERMS - 1):
        made = made + (gl.allocate_shared_memory(gl.float16, [KEYS, 2 * UNITS], layout),)
    return made


@gluon.jit
def query_features(x, share, frequency, amplitudes, TERMS: gl.constexpr, layout: gl.constexpr):
    """v_a c_n (sin n ω x, cos n ω x), one tensor [rows, 2 units] a term, as the left side of a product."""
    sine, cosine = wave(frequency * x)
    share = gl.zeros_like(x) + share[None, :]
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
def noted(
    query, key, share_q, share_k, widest_q, widest_k, line_q, line_k, CHECK: gl.constexpr, SAVE: gl.constexpr
):  # fmt: skip
    """Some units in float32, and what is kept of them: how far they reach, and their part of the line."""
    if CHECK:
        widest_q, widest_k = larger(widest_q, query), larger(widest_k, key)
    x, y = query.to(gl.float32), key.to(gl.float32)
    if SAVE:
        line_q += x * share_q.to(gl.float32)[None, :]
    line_k += dot(y, share_k)
    return x, y, widest_q, widest_k, line_q, line_k


@gluon.jit
def dot(rows, share):
    """Σ_a x_a v_a of each row."""
    return gl.sum(rows * share.to(gl.float32)[None, :], axis=1)


@gluon.jit
def as_left(wave, amplitude, layout: gl.constexpr):
    scaled = times(wave, gl.zeros_like(wave) + amplitude.to(gl.float16))
    return gl.convert_layout(gl.reshape(scaled, [ROWS, 2 * UNITS]), layout, assert_trivial=True)


@gluon.jit
def key_features(x, buffers, frequency, TERMS: gl.constexpr):
    """(cos n ω x, sin n ω x) into the buffers, one a term."""
    sine, cosine = wave(frequency * x)
    twice = (2.0 * cosine).to(gl.float16)
    turn = gl.join(twice, twice)
    before = gl.join(gl.zeros_like(twice) + 1.0, gl.zeros_like(twice))
    now = gl.join(cosine.to(gl.float16), sine.to(gl.float16))
    for n in gl.static_range(TERMS):
        buffers[n].store(gl.reshape(now, [KEYS, 2 * UNITS]))
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


@gluon.jit
def larger(left, right):
    """max(|left|, |right|), two of bfloat16 at a time; NaN where one is."""
    return gl.inline_asm_elementwise(
        "{ .reg .b32 a, b; abs.bf16x2 a, $1; abs.bf16x2 b, $2; max.NaN.bf16x2 $0, a, b; }",
        "=r,r,r", [left, right], gl.bfloat16, True, 2,
    )  # fmt: skip


@gluon.jit
def largest_entry(sizes):
    """Of sizes that `larger` made; NaN if one is: their bits are in the same order as they, and NaN is the largest."""
    bits = gl.max(gl.max(sizes.to(gl.int16, bitcast=True).to(gl.int32), axis=1), axis=0)
    return (bits << 16).to(gl.float32, bitcast=True)


@gluon.jit
def multiply(left, right, energy, TERMS: gl.constexpr):
    """Begin to add the products of all terms, when all warps have written the right sides, and ended the last sum."""
    gl.thread_barrier()
    for n in gl.static_range(TERMS):
        energy = warpgroup_mma(left[n], right[n].permute((1, 0)), energy, is_async=True)
    return energy


@gluon.jit
def finished(energy, left):
    """The sum, when the products with these left sides are added to it."""
    return warpgroup_mma_wait(0, (energy,) + left)[0]


@gluon.jit
def largest_weight(weight, WIDTH: gl.constexpr, POWER: gl.constexpr):
    """max|v|, or 1 where all of v is zero. Every warp reads all of v, so that none waits for another."""
    each: gl.constexpr = gl.BlockedLayout([max(1, POWER // 32)], [32], [WARPS], [0])
    a = gl.arange(0, POWER, each)
    largest = gl.max(gl.abs(gl.load(weight + a, a < WIDTH, 0.0).to(gl.float32)), axis=0)
    return gl.where(largest == 0.0, 1.0, largest)


@gluon.jit
def within(
    query, q_row, queries, key, k_row, keys, span, limit, WIDTH: gl.constexpr, POWER: gl.constexpr
):  # fmt: skip
    """Whether |q_a + k_a| <= span and |q_a|, |k_a| <= limit, by the extremes of each unit; not so for NaN."""
    high, low, strange = extremes(query, q_row, queries, WIDTH, POWER)
    key_high, key_low, key_strange = extremes(key, k_row, keys, WIDTH, POWER)
    near = (high + key_high <= span) & (low + key_low >= -span)
    near = near & (gl.maximum(high, key_high) <= limit) & (gl.minimum(low, key_low) >= -limit)
    return (gl.min(near.to(gl.int32), axis=0) > 0) & (strange + key_strange == 0)


@gluon.jit
def extremes(rows, stride, count, WIDTH: gl.constexpr, POWER: gl.constexpr):
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
