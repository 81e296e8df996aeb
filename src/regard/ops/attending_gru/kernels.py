"""The steps of the attending GRU as one Triton kernel each: a program per sequence, independent of the others."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from torch import Tensor

from regard.ops.attending_gru.reference import LoopInputs, LoopSteps

_TILE = 8192  # entries of [S, A] and [S, D] held at once


@triton.jit
def _tanh(x):
    return 1.0 - 2.0 / (tl.exp(2.0 * x) + 1.0)


@triton.jit
def _forward(
    key, value, bias, weight, inputs, joint, state, after, weights, opened,
    S, A: tl.constexpr, D: tl.constexpr,
    PLACES: tl.constexpr, SCORED: tl.constexpr, GATED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, PLACES)
    there = place < S
    joint += row * (A + 3 * D)
    energy = tl.load(bias + row * S + place, mask=there, other=-float("inf"))
    for begin in range(0, A, SCORED):
        column = begin + tl.arange(0, SCORED)
        inside = column < A
        query = tl.load(joint + column, mask=inside, other=0.0)
        v = tl.load(weight + column, mask=inside, other=0.0)
        tile = there[:, None] & inside[None, :]
        k = tl.load(key + row * S * A + place[:, None] * A + column[None, :], mask=tile, other=0.0)
        energy += tl.sum(_tanh(k + query[None, :]) * v[None, :], axis=1)
    energy = tl.exp(energy - tl.max(energy, axis=0))
    a = energy / tl.sum(energy, axis=0)
    tl.store(weights + row * S + place, a, mask=there)
    for begin in range(0, D, GATED):
        column = begin + tl.arange(0, GATED)
        inside = column < D
        tile = there[:, None] & inside[None, :]
        memory = value + row * S * 3 * D + place[:, None] * (3 * D) + column[None, :]
        given = inputs + row * 3 * D + column
        past = joint + A + column
        r = tl.load(given, mask=inside, other=0.0) + tl.load(past, mask=inside, other=0.0)
        r += tl.sum(tl.load(memory, mask=tile, other=0.0) * a[:, None], axis=0)
        z = tl.load(given + D, mask=inside, other=0.0) + tl.load(past + D, mask=inside, other=0.0)
        z += tl.sum(tl.load(memory + D, mask=tile, other=0.0) * a[:, None], axis=0)
        n = tl.load(given + 2 * D, mask=inside, other=0.0)
        n += tl.sum(tl.load(memory + 2 * D, mask=tile, other=0.0) * a[:, None], axis=0)
        r = 1.0 / (1.0 + tl.exp(-r))
        z = 1.0 / (1.0 + tl.exp(-z))
        n = _tanh(n + r * tl.load(past + 2 * D, mask=inside, other=0.0))
        h = tl.load(state + row * D + column, mask=inside, other=0.0)
        tl.store(after + row * D + column, n + z * (h - n), mask=inside)
        gate = opened + row * 3 * D + column
        tl.store(gate, r, mask=inside)
        tl.store(gate + D, z, mask=inside)
        tl.store(gate + 2 * D, n, mask=inside)


@triton.jit
def _backward(
    key, value, weight, grad, before, joint, state, weights, opened, grad_weights,
    grad_inputs, grad_joint, kept, grad_key, grad_weight,
    S, A: tl.constexpr, D: tl.constexpr, FIRST: tl.constexpr,
    PLACES: tl.constexpr, SCORED: tl.constexpr, GATED: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, PLACES)
    there = place < S
    joint += row * (A + 3 * D)
    grad_joint += row * (A + 3 * D)
    a = tl.load(weights + row * S + place, mask=there, other=0.0)
    felt = tl.load(grad_weights + row * S + place, mask=there, other=0.0)
    for begin in range(0, D, GATED):
        column = begin + tl.arange(0, GATED)
        inside = column < D
        gate = opened + row * 3 * D + column
        r = tl.load(gate, mask=inside, other=0.0)
        z = tl.load(gate + D, mask=inside, other=0.0)
        n = tl.load(gate + 2 * D, mask=inside, other=0.0)
        g = tl.load(grad + row * D + column, mask=inside, other=0.0)
        h = tl.load(state + row * D + column, mask=inside, other=0.0)
        past = tl.load(joint + A + 2 * D + column, mask=inside, other=0.0)
        around = g * z
        if not FIRST:
            around += tl.load(before + row * D + column, mask=inside, other=0.0)
        tl.store(kept + row * D + column, around, mask=inside)
        dn = g * (1.0 - z) * (1.0 - n * n)
        dz = g * (h - n) * z * (1.0 - z)
        dr = dn * past * r * (1.0 - r)
        out = grad_inputs + row * 3 * D + column
        tl.store(out, dr, mask=inside)
        tl.store(out + D, dz, mask=inside)
        tl.store(out + 2 * D, dn, mask=inside)
        out = grad_joint + A + column
        tl.store(out, dr, mask=inside)
        tl.store(out + D, dz, mask=inside)
        tl.store(out + 2 * D, dn * r, mask=inside)
        tile = there[:, None] & inside[None, :]
        memory = value + row * S * 3 * D + place[:, None] * (3 * D) + column[None, :]
        felt += tl.sum(tl.load(memory, mask=tile, other=0.0) * dr[None, :], axis=1)
        felt += tl.sum(tl.load(memory + D, mask=tile, other=0.0) * dz[None, :], axis=1)
        felt += tl.sum(tl.load(memory + 2 * D, mask=tile, other=0.0) * dn[None, :], axis=1)
    de = a * (felt - tl.sum(a * felt, axis=0))
    for begin in range(0, A, SCORED):
        column = begin + tl.arange(0, SCORED)
        inside = column < A
        query = tl.load(joint + column, mask=inside, other=0.0)
        v = tl.load(weight + column, mask=inside, other=0.0)
        tile = there[:, None] & inside[None, :]
        at = row * S * A + place[:, None] * A + column[None, :]
        seen = _tanh(tl.load(key + at, mask=tile, other=0.0) + query[None, :])
        total = grad_weight + row * A + column
        tl.store(total, tl.load(total, mask=inside, other=0.0) + tl.sum(seen * de[:, None], axis=0), mask=inside)
        back = de[:, None] * v[None, :] * (1.0 - seen * seen)
        tl.store(grad_joint + column, tl.sum(back, axis=0), mask=inside)
        tl.store(grad_key + at, tl.load(grad_key + at, mask=tile, other=0.0) + back, mask=tile)


def forward(
    read: LoopInputs, inputs: Tensor, joint: Tensor, state: Tensor, after: Tensor, weights: Tensor, opened: Tensor
) -> None:
    """One step; see `LoopSteps`."""
    _forward[(len(state),)](*read, inputs, joint, state, after, weights, opened, **_sizes(read, state))


def backward(
    read: LoopInputs, grad: Tensor, before: Tensor | None, joint: Tensor, state: Tensor, weights: Tensor, *rest: Tensor
) -> None:
    """One step back; see `LoopSteps`."""
    key, value, _, weight = read
    first = before is None
    outside = grad if before is None else before
    _backward[(len(state),)](
        key, value, weight, grad, outside, joint, state, weights, *rest, FIRST=first, **_sizes(read, state)
    )


def _sizes(read: LoopInputs, state: Tensor) -> dict[str, Any]:
    """The sizes of a problem and of its tiles."""
    _, size, width = read.key.shape
    places = max(16, triton.next_power_of_2(size))
    scored, gated = (min(triton.next_power_of_2(n), max(16, _TILE // places)) for n in (width, state.shape[1]))
    tiles = {"PLACES": places, "SCORED": scored, "GATED": min(gated, 128)}
    return {"S": size, "A": width, "D": state.shape[1], **tiles, "num_warps": 8}


KERNELS = LoopSteps(forward, backward)
