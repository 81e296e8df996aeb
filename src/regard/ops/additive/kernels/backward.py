"""Gradients: first those of the energies of a slab of rows, then from these the slopes inside the tanh.

With h = tanh z of an element, g = ∂/∂e:

    ∂/∂q_ta = v_a Σ_s g (1 - h²)      ∂/∂k_sa = v_a Σ_t g (1 - h²)      ∂/∂v_a = Σ_ts g h

A thread owns a hidden unit of some rows and walks along the other side, so that sums stay in registers. By the product
h = 1 - 2/d, and two neighbours share a reciprocal, 1/d1 = d2 / (d1 d2).
"""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import (
    allowed_pairs,
    exponential,
    hyperbolic_tangent,
    key_count,
    meets,
    multiply,
    reciprocal,
    some,
    whole,
)
from regard.ops.additive.kernels.energy import energies, feature_tile, mapped, weight_sum


@triton.jit
def energy_gradients(
    across_q, across_k, bound_q, bound_k, query, key, weight, feature_weight, features, lengths, dense,
    value, upstream, levels, totals, delta, shares, gradient, grad_features,
    first_group, first_row, rows,
    heads, queries, keys, width, even_width, padded_t, padded_s, value_width, feature_count, first, last,
    q_b, q_h, q_row, q_a, k_b, k_h, k_row, k_a, f_b, f_h, f_t, f_s, f_f, m_b, m_h, m_t, m_s, v_b, v_h, v_s, v_d,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr, GROUP: tl.constexpr, LIMIT: tl.constexpr,
    FEATURES: tl.constexpr, QUICK: tl.constexpr, LENGTHS: tl.constexpr, DENSE: tl.constexpr,
    WIDTH: tl.constexpr, GRANULE: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """A slab's weights `shares` [g, rows, S], and `gradient` [g, S, rows] of its energies.

    `upstream` [G, T, Dv] is the context's gradient. Tiles that the mask rules out are written as zeros.
    """
    local = tl.program_id(2).to(tl.int64)
    group = local + first_group
    batch, head = group // heads, group % heads
    row = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    t = first_row + row
    s = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    count = key_count(lengths, batch, keys, LENGTHS)
    first_t, first_s = first_row + tl.program_id(1) * BLOCK_T, tl.program_id(0) * BLOCK_S
    masks = dense + batch * m_b + head * m_h
    live = meets(first_t, first_s, count, first, last, BLOCK_T, BLOCK_S)
    if DENSE:
        live = some(allowed_pairs(t, s, queries, count, first, last, masks, m_t, m_s, DENSE))
    weights = weight + head * width
    weight_total = weight_sum(weights, width, WIDTH)
    share = tl.zeros([BLOCK_T, BLOCK_S], tl.float32)
    slope = tl.zeros([BLOCK_T, BLOCK_S], tl.float32)
    if live:
        tile = 0.0
        if FEATURES:
            place = features + batch * f_b + head * f_h
            tile = feature_tile(place, t, s, queries, keys, f_t, f_s, f_f, feature_count, FEATURES)
        energy = energies(
            across_q, across_k, bound_q, bound_k, query, key, weights, weight_total, feature_weight, tile,
            group, head, first_t, first_s, queries, keys, width, even_width, padded_t, padded_s,
            batch * q_b + head * q_h, q_row, q_a, batch * k_b + head * k_h, k_row, k_a, feature_count,
            BLOCK_T, BLOCK_S, GROUP, LIMIT, FEATURES, QUICK, GRANULE,
        )  # fmt: skip
        place = group * queries + t
        peak = tl.load(levels + place, mask=t < queries, other=0.0)
        share = exponential(energy - peak[:, None], value.dtype.element_ty != tl.float32)
        share *= (1.0 / tl.load(totals + place, mask=t < queries, other=1.0))[:, None]
        inner = (first_t + BLOCK_T <= queries) & (tl.program_id(1) * BLOCK_T + BLOCK_T <= rows)
        if DENSE or not (inner & whole(first_t, first_s, count, first, last, BLOCK_T, BLOCK_S)):
            pairs = allowed_pairs(t, s, queries, count, first, last, masks, m_t, m_s, DENSE)
            share = tl.where(pairs & (row < rows)[:, None], share, 0.0)
        matched = tl.zeros([BLOCK_T, BLOCK_S], tl.float32)
        for start in range(0, value_width, BLOCK_D):
            d = start + tl.arange(0, BLOCK_D)
            above = tl.load(
                upstream + (group * queries + t)[:, None] * value_width + d[None, :],
                mask=(t < queries)[:, None] & (d < value_width)[None, :], other=0.0,
            )  # fmt: skip
            values = tl.load(
                value + batch * v_b + head * v_h + s[None, :] * v_s + d[:, None] * v_d,
                mask=(s < keys)[None, :] & (d < value_width)[:, None], other=0.0,
            )  # fmt: skip
            matched = multiply(above, values, matched, PRECISION)
        slope = share * (matched - tl.load(delta + group * queries + t, mask=t < queries, other=0.0)[:, None])
        if FEATURES:
            feature_gradients(
                query + batch * q_b + head * q_h, key + batch * k_b + head * k_h, weights,
                feature_weight + head * width * feature_count, tile, slope,
                grad_features + group * queries * keys * feature_count,
                t, s, queries, keys, width, q_row, q_a, k_row, k_a, feature_count, BLOCK_T, BLOCK_S, FEATURES,
            )  # fmt: skip
    tl.store(shares + (local * rows + row)[:, None] * keys + s[None, :], share.to(shares.dtype.element_ty),
             mask=(row < rows)[:, None] & (s < keys)[None, :])  # fmt: skip
    padded_rows = tl.num_programs(1) * BLOCK_T
    tl.store(gradient + (local * padded_s + s)[None, :] * padded_rows + row[:, None], slope)


@triton.jit
def feature_gradients(
    query, key, weight, feature_weight, features, slope, out,
    t, s, queries, keys, width, q_row, q_a, k_row, k_a, count,
    BLOCK_T: tl.constexpr, BLOCK_S: tl.constexpr, FEATURES: tl.constexpr,
):  # fmt: skip
    """∂/∂f_ts = Pᵀ (∂/∂z_ts) of a tile, added over the hidden units."""
    f = tl.arange(0, FEATURES)
    total = tl.zeros([BLOCK_T, BLOCK_S, FEATURES], tl.float32)
    query += tl.minimum(t, queries - 1) * q_row
    key += tl.minimum(s, keys - 1) * k_row
    for a in range(0, width):
        inside = tl.load(query + a * q_a).to(tl.float32)[:, None] + tl.load(key + a * k_a).to(tl.float32)[None, :]
        h = hyperbolic_tangent(inside + mapped(features, feature_weight + a * count, count, FEATURES), False)
        reach = tl.load(weight + a).to(tl.float32) * slope * (1.0 - h * h)
        row = tl.load(feature_weight + a * count + f, mask=f < count, other=0.0)
        total += reach[:, :, None] * row[None, None, :]
    place = (t[:, None, None] * keys + s[None, :, None]) * count + f[None, None, :]
    mask = (t < queries)[:, None, None] & (s < keys)[None, :, None] & (f < count)[None, None, :]
    tl.store(out + place, total, mask=mask)


@triton.jit
def slopes(
    along_mine, along_yours, bound_mine, bound_yours, mine, yours, feature_weight, features, lengths, gradient,
    grad_mine, grad_yours, grad_weight, grad_maps,
    first_group, first_mine, first_yours, my_rows, your_rows, heads, my_total, your_total, width,
    padded_width, my_padded, your_padded, feature_count, first, last, g_group, g_mine, g_yours,
    m_b, m_h, m_row, m_a, y_b, y_h, y_row, y_a, f_b, f_h, f_mine, f_yours, f_f,
    BLOCK: tl.constexpr, BLOCK_A: tl.constexpr, PIECES: tl.constexpr,
    GROUP: tl.constexpr, LIMIT: tl.constexpr, BOTH: tl.constexpr,
    WEIGHT: tl.constexpr, LENGTHS: tl.constexpr, FEATURES: tl.constexpr, QUICK: tl.constexpr,
):  # fmt: skip
    """Rows of one side ("mine") walk along the other ("yours") and add up g (1 - h²).

    `along_mine`, `along_yours` [G, padded rows, padded A]: the exponentials. `mine`, `yours`: queries and keys, or keys
    and queries, themselves. `gradient`: g of the slab, by its strides. `grad_mine`, `grad_yours` [G, padded rows,
    padded A]: sums so far; yours are added to only with `BOTH`, which adds in no fixed order and may cut the way into
    `PIECES`. With `WEIGHT` each program leaves its Σ g h in `grad_weight` [g, blocks and pieces, padded A], and its
    share of ∂/∂P in `grad_maps` [g, blocks and pieces, padded A, FEATURES].
    A key is in (t + first, t + last] of its query; with keys as "mine", the two are those of the query.
    """
    local = tl.program_id(2).to(tl.int64)
    group = local + first_group
    batch, head = group // heads, group % heads
    block, piece = tl.program_id(0) // PIECES, tl.program_id(0) % PIECES
    row = block * BLOCK + tl.arange(0, BLOCK)
    a = tl.program_id(1) * BLOCK_A + tl.arange(0, BLOCK_A)
    corner = first_mine + block * BLOCK
    count = key_count(lengths, batch, your_total, LENGTHS)
    begin = tl.maximum(corner + first + 1 - first_yours, 0) // 2 * 2
    end = tl.minimum(tl.minimum(count, corner + BLOCK + last) - first_yours, your_rows)
    length = tl.cdiv(tl.cdiv(tl.maximum(end - begin, 0), PIECES), 2) * 2
    begin += piece * length
    end = tl.minimum(end, begin + length)
    # Programs that add to the same rows begin at different ones, so that they seldom meet.
    ahead = 0
    if BOTH:
        blocks = tl.num_programs(0) // PIECES
        ahead = block * tl.maximum(length // blocks // 2 * 2, 2)
    fall = gradient + (local * g_group + block * BLOCK * g_mine) + tl.arange(0, BLOCK) * g_mine
    # Tiles are [A, rows], and hidden units said not to be contiguous, so that the compiler gives a thread one unit of
    # all rows and no neighbours: sums over rows stay in it.
    unit = tl.max_contiguous(tl.program_id(1) * BLOCK_A + tl.arange(0, BLOCK_A), 1)
    here = (group * my_padded + first_mine + row)[None, :] * padded_width + unit[:, None]
    there = (group * your_padded + first_yours) * padded_width + tl.program_id(1) * BLOCK_A
    there += tl.arange(0, BLOCK_A)
    if GROUP == 0:
        total, pulled = walk(
            mine + batch * m_b + head * m_h, yours + batch * y_b + head * y_h,
            feature_weight + head * width * feature_count, features + batch * f_b + head * f_h,
            fall, grad_yours + there,
            grad_maps + local * tl.num_programs(0) * padded_width * FEATURES,
            first_mine + row, first_yours, a, begin, end, ahead, my_total, width, padded_width, feature_count,
            g_yours, m_row, m_a, y_row, y_a, f_mine, f_yours, f_f, BLOCK, BLOCK_A, BOTH, WEIGHT, FEATURES, QUICK,
        )  # fmt: skip
    elif tl.load(bound_mine + group) + tl.load(bound_yours + group) <= LIMIT:
        total, pulled = walk_in_pairs(
            tl.load(along_mine + here), along_yours + there, fall, grad_yours + there,
            begin, end, ahead, padded_width, g_yours, BLOCK, BLOCK_A, BOTH, WEIGHT,
        )  # fmt: skip
    else:
        total, pulled = walk(
            mine + batch * m_b + head * m_h, yours + batch * y_b + head * y_h, feature_weight,
            features, fall, grad_yours + there, grad_maps,
            first_mine + row, first_yours, a, begin, end, ahead, my_total, width, padded_width, feature_count,
            g_yours, m_row, m_a, y_row, y_a, f_mine, f_yours, f_f, BLOCK, BLOCK_A, BOTH, WEIGHT, 0, QUICK,
        )  # fmt: skip
    inside = (row < my_rows)[None, :] & (a < padded_width)[:, None]
    if BOTH:
        tl.atomic_add(grad_mine + here, total, mask=inside, sem="relaxed")
    else:
        tl.store(grad_mine + here, tl.load(grad_mine + here, mask=inside, other=0.0) + total, mask=inside)
    if WEIGHT:
        place = (local * tl.num_programs(0) + tl.program_id(0)) * padded_width + a
        tl.store(grad_weight + place, tl.sum(pulled, axis=1))


@triton.jit
def turned(step, begin, span, ahead):
    """The row of a step of a walk over `span` rows that begins `ahead` rows late and ends with those."""
    s = step + ahead % span
    return tl.where(s >= begin + span, s - span, s)


@triton.jit
def added(total, lost, term):
    """A sum and what rounding has taken from it (Kahan 1965): a walk adds thousands of terms one after the other."""
    whole_term = term - lost
    new = total + whole_term
    return new, (new - total) - whole_term


@triton.jit
def walk_in_pairs(
    x, yours, fall, grad_yours, begin, end, ahead, your_step, fall_step,
    BLOCK: tl.constexpr, BLOCK_A: tl.constexpr, BOTH: tl.constexpr, WEIGHT: tl.constexpr,
):  # fmt: skip
    """Σ g (1 - h²) and, with `WEIGHT`, Σ g h of [A, rows], by the product; two neighbours share a reciprocal.

    With h/2 = 1/2 - 1/d, 1 - h² = -4 ((h/2)² - 1/4).
    """
    total = tl.zeros([BLOCK_A, BLOCK], tl.float32)
    pulled = tl.zeros([BLOCK_A, BLOCK], tl.float32)
    if end <= begin:  # nothing to walk along; the first two rows are there to be read
        begin, end = 0, 0
    span = tl.maximum(tl.cdiv(end - begin, 2) * 2, 2)
    s = turned(begin, begin, span, ahead)
    first, second = tl.load(yours + s * your_step), tl.load(yours + (s + 1) * your_step)
    g, next_g = tl.load(fall + s * fall_step), tl.load(fall + (s + 1) * fall_step)
    for step in range(begin, end, 2):
        # What the next step reads is asked for before this one is computed.
        then = turned(step + 2, begin, span, ahead)
        later, later_second = tl.load(yours + then * your_step), tl.load(yours + (then + 1) * your_step)
        later_g, later_next_g = tl.load(fall + then * fall_step), tl.load(fall + (then + 1) * fall_step)
        one, two = tl.fma(x, -first[:, None], -1.0), tl.fma(x, -second[:, None], -1.0)
        inverse = reciprocal(one * two)
        half, next_half = tl.fma(inverse, two, 0.5), tl.fma(inverse, one, 0.5)
        slope, next_slope = tl.fma(half, half, -0.25), tl.fma(next_half, next_half, -0.25)
        total = tl.fma(next_g[None, :], next_slope, tl.fma(g[None, :], slope, total))
        if WEIGHT:
            pulled = tl.fma(next_g[None, :], next_half, tl.fma(g[None, :], half, pulled))
        if BOTH:
            here, there = grad_yours + s * your_step, grad_yours + (s + 1) * your_step
            tl.atomic_add(here, -4.0 * tl.sum(g[None, :] * slope, axis=1), sem="relaxed")
            tl.atomic_add(there, -4.0 * tl.sum(next_g[None, :] * next_slope, axis=1), sem="relaxed")
        s, first, second, g, next_g = then, later, later_second, later_g, later_next_g
    return -4.0 * total, 2.0 * pulled


@triton.jit
def walk(
    mine, yours, maps, features, fall, grad_yours, grad_maps,
    row, first_yours, a, begin, end, ahead, my_total, width, padded_width, feature_count,
    fall_step, m_row, m_a, y_row, y_a, f_mine, f_yours, f_f,
    BLOCK: tl.constexpr, BLOCK_A: tl.constexpr, BOTH: tl.constexpr, WEIGHT: tl.constexpr,
    FEATURES: tl.constexpr, QUICK: tl.constexpr,
):  # fmt: skip
    """The same by the tanh itself, one row after the other, with features; rows past the end read the last one."""
    column = tl.minimum(a, width - 1)
    z = tl.load(mine + tl.minimum(row, my_total - 1)[None, :] * m_row + column[:, None] * m_a).to(tl.float32)
    total = tl.zeros([BLOCK_A, BLOCK], tl.float32)
    pulled = tl.zeros([BLOCK_A, BLOCK], tl.float32)
    lost, pulled_lost = tl.zeros_like(total), tl.zeros_like(total)
    if FEATURES:
        f = tl.arange(0, FEATURES)
        known = (a < width)[:, None] & (f < feature_count)[None, :]
        units = tl.load(maps + a[:, None] * feature_count + f[None, :], mask=known, other=0.0)
        map_total = tl.zeros([BLOCK_A, FEATURES], tl.float32)
    for step in range(begin, end):
        s = turned(step, begin, end - begin, ahead)
        inside = z + tl.load(yours + (first_yours + s) * y_row + column * y_a).to(tl.float32)[:, None]
        if FEATURES:
            place = (first_yours + s) * f_yours + row[:, None] * f_mine + f[None, :] * f_f
            inner = (row < my_total)[:, None] & (f < feature_count)[None, :]
            seen = tl.load(features + place, mask=inner, other=0.0).to(tl.float32)
            inside += tl.sum(seen[None, :, :] * units[:, None, :], axis=2)
        h = hyperbolic_tangent(inside, QUICK)
        g = tl.load(fall + s * fall_step)[None, :]
        pull = g * h
        reach = tl.fma(-pull, h, g)
        if QUICK:
            total += reach
        else:
            total, lost = added(total, lost, reach)
        if WEIGHT:
            if QUICK:
                pulled += pull
            else:
                pulled, pulled_lost = added(pulled, pulled_lost, pull)
        if BOTH:
            tl.atomic_add(grad_yours + s * padded_width, tl.sum(reach, axis=1), sem="relaxed")
        if FEATURES and WEIGHT:
            map_total += tl.sum(reach[:, :, None] * seen[None, :, :], axis=1)
    if FEATURES and WEIGHT:
        place = (tl.program_id(0) * padded_width + a)[:, None] * FEATURES + f[None, :]
        tl.store(grad_maps + place, map_total)
    return total, pulled
