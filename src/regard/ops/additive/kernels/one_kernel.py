"""Harmonic attention in one kernel: features are made while the tensor cores multiply the ones before.

A program has 128 queries and 256 keys, and makes their features 8 hidden units at a time: those of the queries in the
registers that a product reads, those of the keys in shared memory, in two buffers in turn. The energies of all 256 keys
are there before their softmax, so that it needs no second look. Where there are two tiles of keys, the first program
leaves what it read, and the second, which is never started before it, puts both together (`halves.py`).

Units are fetched two at a time: a thread has what lies at 2a and 2a + 1 as 32 bits. In rows of features all the firsts
of such pairs come before the seconds, the same for queries and keys.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, warpgroup_mma, warpgroup_mma_wait

from regard.ops.additive.kernels.waves import key_features, query_features

ROWS = gl.constexpr(128)
KEYS = gl.constexpr(256)
UNITS = gl.constexpr(8)
WARPS = gl.constexpr(8)
SUMS = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [8, 1], [16, 256, 16]))
LEFT = gl.constexpr(gl.DotOperandLayout(0, gl.NVMMADistributedLayout([3, 0], [8, 1], [16, 256, 16]), 2))
# A thread has pair a of rows r and r + 8: its units are what it needs to be the left side of a product.
BY_QUERY = gl.constexpr(
    gl.DistributedLinearLayout(
        [[8, 0]], [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], [[16, 0], [32, 0], [64, 0]], [], [128, 4]
    )
)
BY_KEY = gl.constexpr(gl.BlockedLayout([1, 4], [32, 1], [8, 1], [1, 0]))


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
    reads: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [WARPS, 1], [16, BLOCK_D, 16])
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
        query += batch * q_b + head * q_h + block.to(gl.int64) * ROWS * q_row
        key += batch * k_b + head * k_h + start.to(gl.int64) * k_row
        weight += head * WIDTH
        sources = (
            pairs_of(query, q_row, ROWS, BY_QUERY), rows_there(queries - block * ROWS, ROWS, BY_QUERY),
            pairs_of(key, k_row, KEYS, BY_KEY), rows_there(keys - start, KEYS, BY_KEY), weight,
        )  # fmt: skip
        fetched = fetch(sources, 0)
        largest = largest_weight(weight, WIDTH, POWER)
        fit = (frequency, amplitudes, 1.0 / largest)
        noted = nothing_noted()
        first_buffer, second_buffer = buffers(TERMS), buffers(TERMS)
        features, fetched, noted = make(first_buffer, fetched, noted, sources, 0, fit, TERMS, CHECK, SAVE, True)
        energy = gl.full([ROWS, KEYS], 0.0, gl.float32, SUMS)
        value += batch * v_b + head * v_h + start.to(gl.int64) * v_row
        values = on_its_way(value, v_row, keys - start, BLOCK_D)
        for unit in range(UNITS, WIDTH - UNITS, 2 * UNITS):
            energy = multiply(features, first_buffer, energy, TERMS)
            later, fetched, noted = make(second_buffer, fetched, noted, sources, unit, fit, TERMS, CHECK, SAVE, True)
            energy, features = finished(energy, features, later, TERMS)
            energy = multiply(features, second_buffer, energy, TERMS)
            later, fetched, noted = make(
                first_buffer, fetched, noted, sources, unit + UNITS, fit, TERMS, CHECK, SAVE, True
            )
            energy, features = finished(energy, features, later, TERMS)
        energy = multiply(features, first_buffer, energy, TERMS)
        later, fetched, noted = make(
            second_buffer, fetched, noted, sources, WIDTH - UNITS, fit, TERMS, CHECK, SAVE, False
        )
        energy, features = finished(energy, features, later, TERMS)
        energy = multiply(features, second_buffer, energy, TERMS)
        # While the last product is made:
        widest_q, widest_k, line_q, line_k = noted
        shift = gl.convert_layout(slope / largest * line_k, gl.SliceLayout(0, SUMS))
        if SAVE:
            own = gl.convert_layout(slope / largest * gl.sum(line_q, axis=1), gl.SliceLayout(1, reads))
        if CHECK:
            reach_q, reach_k = largest_size(gl.reduce(widest_q, 1, wider)), largest_size(widest_k)
            promise_kept = (reach_q + reach_k <= span) & (gl.maximum(reach_q, reach_k) <= limit)
        energy = warpgroup_mma_wait(0, (energy,) + features)[0] + shift[None, :]

        if MASKED:
            s = start + gl.arange(0, KEYS, gl.SliceLayout(0, SUMS))
            ahead = s[None, :] - (block * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, SUMS)))[:, None]
            energy = gl.where((s < count)[None, :] & (ahead <= last) & (ahead > first), energy, float("-inf"))
        scale = largest * 1.4426950408889634  # energies as powers of two
        read, highest, total = read_values(energy, scale, values, MASKED)
        if CHECK:
            if promise_kept == 0:  # by the largest of all units; each by itself may still be near enough
                promise_kept = within(
                    query, q_row, gl.minimum(queries - block * ROWS, ROWS), key, k_row, gl.minimum(keys - start, KEYS),
                    span, limit, WIDTH, POWER, WARPS,
                )  # fmt: skip
            total += gl.where(promise_kept, 0.0, float("nan"))

        slot = group * (gl.num_programs(0) // PIECES) + block
        parts += slot * ROWS * BLOCK_D
        levels += slot * 2 * ROWS
        if PIECES == 2:
            if other & (piece == 0):
                leave(read, highest, total, parts, levels, done + slot)
            if other & (piece == 1):
                read, highest, total = put_together(read, highest, total, parts, levels, done + slot)
        if (other == 0) | (piece == 1):
            total = gl.where(total == 0.0, 1.0, total)  # a row without keys: its context is zero
            context += (group * queries + block * ROWS) * BLOCK_D
            write(context, read * (1.0 / total)[:, None], queries - block * ROWS)
            if SAVE:
                t = block * ROWS + gl.arange(0, ROWS, gl.SliceLayout(1, reads))
                powers = own * scale + highest + gl.log2(total)
                gl.store(lse + group * queries + t, 0.6931471805599453 * powers, t < queries)


@gluon.jit
def pairs_of(rows, stride, COUNT: gl.constexpr, layout: gl.constexpr):
    """Addresses of the first pairs of units of some rows, [COUNT, UNITS / 2]."""
    row = rows + gl.arange(0, COUNT, gl.SliceLayout(1, layout)) * stride
    pair = gl.arange(0, UNITS // 2, gl.SliceLayout(0, layout))
    return row.to(gl.pointer_type(gl.int32), bitcast=True)[:, None] + pair[None, :]


@gluon.jit
def rows_there(count, COUNT: gl.constexpr, layout: gl.constexpr):
    return (gl.arange(0, COUNT, gl.SliceLayout(1, layout)) < count)[:, None]


@gluon.jit
def fetch(sources, unit):
    """Pairs of units of the queries and of the keys, zeros for rows that are not there."""
    asked, there_q, kept, there_k, _ = sources
    return gl.load(asked + unit // 2, there_q, 0), gl.load(kept + unit // 2, there_k, 0)


@gluon.jit
def unpacked(pairs):
    """Pairs of bfloat16 as float32, [rows, UNITS]: all firsts, then all seconds."""
    return in_order((pairs << 16).to(gl.float32, bitcast=True), (pairs & -65536).to(gl.float32, bitcast=True))


@gluon.jit
def in_order(firsts, seconds):
    return gl.reshape(gl.permute(gl.join(firsts, seconds), (0, 2, 1)), [firsts.shape[0], UNITS])


@gluon.jit
def shares(weight, unit, COUNT: gl.constexpr, layout: gl.constexpr):
    """v of some units, in the order of `unpacked`, the same in all rows."""
    pair = gl.arange(0, UNITS // 2, gl.SliceLayout(0, layout))
    if weight.dtype.element_ty == gl.bfloat16:
        pairs = gl.load(weight.to(gl.pointer_type(gl.int32), bitcast=True) + unit // 2 + pair)
        share = unpacked(gl.full([COUNT, UNITS // 2], 0, gl.int32, layout) + pairs[None, :])
    else:
        nothing = gl.full([COUNT, UNITS // 2], 0.0, gl.float32, layout)
        weight += unit + 2 * pair
        share = in_order(nothing + gl.load(weight)[None, :], nothing + gl.load(weight + 1)[None, :])
    return share


@gluon.jit
def nothing_noted():
    """Initial values: reach of queries and keys, and their parts of the line Σ_a v_a x_a."""
    pairs_q = gl.full([ROWS, UNITS // 2], 0, gl.int32, BY_QUERY)
    pairs_k = gl.full([KEYS, UNITS // 2], 0, gl.int32, BY_KEY)
    return pairs_q, gl.max(pairs_k, axis=1), unpacked(pairs_q), gl.sum(unpacked(pairs_k), axis=1)


@gluon.jit
def make(
    room, fetched, noted, sources, unit, fit,
    TERMS: gl.constexpr, CHECK: gl.constexpr, SAVE: gl.constexpr, MORE: gl.constexpr,
):  # fmt: skip
    """Features of what was fetched, those of keys into `room`; the next units, and what is noted of these."""
    widest_q, widest_k, line_q, line_k = noted
    pairs_q, pairs_k = fetched
    frequency, amplitudes, inverse = fit
    share_q, share_k = shares(sources[4], unit, ROWS, BY_QUERY), shares(sources[4], unit, KEYS, BY_KEY)
    if CHECK:
        widest_q, widest_k = wider(widest_q, pairs_q), wider(widest_k, gl.reduce(pairs_k, 1, wider))
    x, y = unpacked(pairs_q), unpacked(pairs_k)
    if MORE:
        fetched = fetch(sources, unit + UNITS)
    key_features(y, room, frequency, TERMS)
    line_k += gl.sum(y * share_k, axis=1)
    if SAVE:
        line_q += x * share_q
    features = query_features(x, share_q * inverse, frequency, amplitudes, TERMS, LEFT)
    fence_async_shared()
    return features, fetched, (widest_q, widest_k, line_q, line_k)


@gluon.jit
def multiply(left, right, energy, TERMS: gl.constexpr):
    """Begin to add the products of all terms, when all warps have written the right sides."""
    gl.thread_barrier()
    for n in gl.static_range(TERMS):
        energy = warpgroup_mma(left[n], right[n].permute((1, 0)), energy, is_async=True)
    return energy


@gluon.jit
def finished(energy, left, later, TERMS: gl.constexpr):
    """The sum, when products with `left` are added to it, and the next left sides, which are made before that."""
    made = warpgroup_mma_wait(0, (energy,) + left + later)
    return made[0], made[1 + TERMS :]


@gluon.jit
def buffers(TERMS: gl.constexpr):
    """Room for the features of the keys, one a term."""
    layout: gl.constexpr = gl.NVMMASharedLayout(4 * UNITS, 16, 2)
    made = (gl.allocate_shared_memory(gl.float16, [KEYS, 2 * UNITS], layout),)
    for _ in gl.static_range(TERMS - 1):
        made = made + (gl.allocate_shared_memory(gl.float16, [KEYS, 2 * UNITS], layout),)
    return made


@gluon.jit
def largest_weight(weight, WIDTH: gl.constexpr, POWER: gl.constexpr):
    """max|v|, or 1 where all of v is zero. Every warp reads all of v, so that none waits for another."""
    each: gl.constexpr = gl.BlockedLayout([max(1, POWER // 32)], [32], [WARPS], [0])
    a = gl.arange(0, POWER, each)
    largest = gl.max(gl.abs(gl.load(weight + a, a < WIDTH, 0.0).to(gl.float32)), axis=0)
    return gl.where(largest == 0.0, 1.0, largest)


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
    near = power_of_two(near * scale - level[:, None])
    near_side = gl.convert_layout(near.to(values.dtype), side)
    read = gl.full([ROWS, values.shape[1]], 0.0, gl.float32, reads)
    read = warpgroup_mma(near_side, values.slice(0, KEYS // 2), read, is_async=True)
    far = power_of_two(far * scale - level[:, None])
    far_side = gl.convert_layout(far.to(values.dtype), side)
    read = warpgroup_mma(far_side, values.slice(KEYS // 2, KEYS // 2), read, is_async=True)
    total = gl.convert_layout(gl.sum(near, axis=1) + gl.sum(far, axis=1), gl.SliceLayout(1, reads))
    highest = gl.convert_layout(highest, gl.SliceLayout(1, reads))
    read = warpgroup_mma_wait(0, [read, near_side, far_side])[0]
    return read, highest, total


@gluon.jit
def power_of_two(x):
    """2^x in one instruction, zero below 2^-126."""
    return gl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], gl.float32, True, 1)


@gluon.jit
def write(context, read, count):
    """The first `count` rows, each by threads that lie next to each other."""
    width: gl.constexpr = read.shape[1]
    layout: gl.constexpr = gl.BlockedLayout([1, 8], [256 // width, width // 8], [WARPS, 1], [1, 0])
    row, column = gl.arange(0, ROWS, gl.SliceLayout(1, layout)), gl.arange(0, width, gl.SliceLayout(0, layout))
    rows = gl.convert_layout(read.to(context.dtype.element_ty), layout)
    gl.store(context + row[:, None] * width + column[None, :], rows, (row < count)[:, None])


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


@gluon.jit
def leave(read, highest, total, parts, levels, done):
    """Write what was read, for the program that has the other keys, and then say so."""
    part, level = places(read, parts, levels)
    gl.store(part, read)
    gl.store(level, highest)
    gl.store(level + read.shape[0], total)
    gl.thread_barrier()  # all of it is written before it is said to be
    gl.atomic_xchg(done, 1, sem="release")


@gluon.jit
def put_together(read, highest, total, parts, levels, done):
    """Both programs' share, when the other has said that its own is there."""
    part, level = places(read, parts, levels)
    while gl.atomic_add(done, 0, sem="acquire") == 0:
        pass
    theirs = gl.load(level, cache_modifier=".cg")
    top = gl.maximum(highest, theirs)
    floor = gl.where(top == float("-inf"), 0.0, top)
    shrink, fade = gl.exp2(highest - floor), gl.exp2(theirs - floor)
    total = shrink * total + fade * gl.load(level + read.shape[0], cache_modifier=".cg")
    read = shrink[:, None] * read + fade[:, None] * gl.load(part, cache_modifier=".cg")
    gl.atomic_xchg(done, 0, sem="relaxed")
    return read, top, total


@gluon.jit
def places(read, parts, levels):
    """Addresses of a share, in the order of the registers: a warp writes eight rows of eight next to each other."""
    layout: gl.constexpr = read.type.layout
    width: gl.constexpr = read.shape[1]
    row, d = gl.arange(0, read.shape[0], gl.SliceLayout(1, layout)), gl.arange(0, width, gl.SliceLayout(0, layout))
    place = (row // 8 * (8 * width) + row % 8 * 8)[:, None] + (d // 8 * 64 + d % 8)[None, :]
    return parts + place, levels + row
