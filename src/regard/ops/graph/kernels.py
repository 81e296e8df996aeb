"""Triton kernels of graph attention: a program has a node, and walks along its edges some at a time."""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.ops.graph.edges import SortedEdges

_ENTRIES = 2048
_EDGES = 16


class Tile(NamedTuple):
    """Some heads of a node, whole, and as many of its edges at a time.

    Attributes:
        edges: at a time.
        heads: of a program.
        width: D, as a power of two.
        pieces: programs that share the heads of a node.
        warps: of a program.
    """

    edges: int
    heads: int
    width: int
    pieces: int
    warps: int


def tile(heads: int, width: int) -> Tile:
    """Up to 2,048 entries, of up to 16 edges."""
    columns = triton.next_power_of_2(max(1, width))
    together = min(triton.next_power_of_2(max(1, heads)), max(1, _ENTRIES // 4 // columns))
    edges = min(_EDGES, max(1, _ENTRIES // (together * columns)))
    return Tile(edges, together, columns, triton.cdiv(heads, together), 2 if edges * together * columns <= 1024 else 4)


def read_edges(
    as_source: Tensor,
    as_target: Tensor,
    value: Tensor,
    kept: Tensor | None,
    edges: SortedEdges,
    slope: float,
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ_j κ_ij α_ij value_j [N, H, D] in a dtype, top_i = max_j e_ij and Σ_j exp(e_ij - top_i), [N, H].

    A node without edges has 0, 0 and 1. Both numbers instead of their log-sum-exp, whose rounding the weights that are
    made again would have.
    """
    nodes, heads, width = value.shape
    context = torch.empty(value.shape, dtype=dtype, device=value.device)
    top, total = torch.empty_like(as_target), torch.empty_like(as_target)
    if context.numel():
        size = tile(heads, width)
        with torch.cuda.device_of(value):
            _read[nodes, size.pieces](
                as_source, as_target, value, as_source if kept is None else kept, *edges, context, top, total,
                heads, width, slope,
                EDGES=size.edges, HEADS=size.heads, WIDTH=size.width, KEPT=kept is not None, num_warps=size.warps,
            )  # fmt: skip
    return context, top, total


@triton.jit
def _read(
    as_source, as_target, value, kept, start, other, place, context, top, total, heads, width, slope,
    EDGES: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, KEPT: tl.constexpr,
):  # fmt: skip
    """The grid is nodes, pieces of their heads."""
    node = tl.program_id(0).to(tl.int64)
    h, d = tl.program_id(1) * HEADS + tl.arange(0, HEADS), tl.arange(0, WIDTH)
    entry, inside = h[:, None] * width + d[None, :], (h < heads)[:, None] & (d < width)[None, :]
    own = tl.load(as_target + node * heads + h, mask=h < heads, other=0.0)
    highest, shares = tl.full([HEADS], float("-inf"), tl.float32), tl.zeros([HEADS], tl.float32)
    read = tl.zeros([HEADS, WIDTH], tl.float32)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        there = (edge < end)[:, None] & (h < heads)[None, :]
        source = tl.load(other + edge, mask=edge < end, other=0)
        energy = own[None, :] + tl.load(as_source + source[:, None] * heads + h[None, :], mask=there, other=0.0)
        energy = tl.where((edge < end)[:, None], tl.where(energy > 0, energy, slope * energy), float("-inf"))
        higher = tl.maximum(highest, tl.max(energy, axis=0))
        fade, share = tl.exp(highest - higher), tl.exp(energy - higher[None, :])
        shares = fade * shares + tl.sum(share, axis=0)
        if KEPT:
            given = tl.load(place + edge, mask=edge < end, other=0)
            share *= tl.load(kept + given[:, None] * heads + h[None, :], mask=there, other=0.0)
        at = value + (source * heads * width)[:, None, None] + entry[None, :, :]
        entries = tl.load(at, mask=(edge < end)[:, None, None] & inside[None, :, :], other=0.0).to(tl.float32)
        read = fade[:, None] * read + tl.sum(share[:, :, None] * entries, axis=0)
        highest = higher
    alone = shares == 0.0
    shares = tl.where(alone, 1.0, shares)
    found = (read / shares[:, None]).to(context.dtype.element_ty)
    tl.store(context + node * heads * width + entry, found, mask=inside)
    tl.store(top + node * heads + h, tl.where(alone, 0.0, highest), mask=h < heads)
    tl.store(total + node * heads + h, shares, mask=h < heads)


def pull_edges(
    as_source: Tensor,
    as_target: Tensor,
    value: Tensor,
    kept: Tensor | None,
    top: Tensor,
    total: Tensor,
    delta: Tensor,
    upstream: Tensor,
    edges: SortedEdges,
    slope: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of what nodes are worth as sources [N, H], of values [N, H, D], and of each edge's energy before the
    LeakyReLU, [E, H] in the order of the edges as they were given."""
    nodes, heads, width = value.shape
    grad_source, grad_value = torch.empty_like(as_source), torch.empty_like(value)
    pulled = as_source.new_empty(edges.other.shape[0], heads)
    if value.numel():
        size = tile(heads, width)
        with torch.cuda.device_of(value):
            _pull[nodes, size.pieces](
                as_source, as_target, value, as_source if kept is None else kept, top, total, delta, upstream, *edges,
                grad_source, grad_value, pulled, heads, width, slope,
                EDGES=size.edges, HEADS=size.heads, WIDTH=size.width, KEPT=kept is not None, num_warps=size.warps,
            )  # fmt: skip
    return grad_source, grad_value, pulled


def sum_edges(numbers: Tensor, edges: SortedEdges) -> Tensor:
    """The sum over the edges of each node, [E, H] in the order of the edges as they were given -> [N, H]."""
    nodes, heads = edges.start.shape[0] - 1, numbers.shape[1]
    sums = numbers.new_empty(nodes, heads)
    if sums.numel():
        size = tile(heads, 1)
        with torch.cuda.device_of(numbers):
            _sum[nodes, size.pieces](
                numbers, edges.start, edges.place, sums, heads, EDGES=size.edges, HEADS=size.heads, num_warps=1
            )  # fmt: skip
    return sums


@triton.jit
def _pull(
    as_source, as_target, value, kept, top, total, delta, upstream, start, other, place,
    grad_source, grad_value, pulled, heads, width, slope,
    EDGES: tl.constexpr, HEADS: tl.constexpr, WIDTH: tl.constexpr, KEPT: tl.constexpr,
):  # fmt: skip
    """The grid is nodes, pieces of their heads; weights are made again from `top` and `total`."""
    node = tl.program_id(0).to(tl.int64)
    h, d = tl.program_id(1) * HEADS + tl.arange(0, HEADS), tl.arange(0, WIDTH)
    entry, inside = h[:, None] * width + d[None, :], (h < heads)[:, None] & (d < width)[None, :]
    worth = tl.load(as_source + node * heads + h, mask=h < heads, other=0.0)
    own = tl.load(value + node * heads * width + entry, mask=inside, other=0.0).to(tl.float32)
    grad, pull = tl.zeros([HEADS, WIDTH], tl.float32), tl.zeros([HEADS], tl.float32)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        there = (edge < end)[:, None] & (h < heads)[None, :]
        reader = tl.load(other + edge, mask=edge < end, other=0)
        given = tl.load(place + edge, mask=edge < end, other=0)[:, None] * heads + h[None, :]
        at = reader[:, None] * heads + h[None, :]
        energy = worth[None, :] + tl.load(as_target + at, mask=there, other=0.0)
        rising = energy > 0
        energy = tl.where(rising, energy, slope * energy)
        share = tl.exp(energy - tl.load(top + at, mask=there, other=0.0)) / tl.load(total + at, mask=there, other=1.0)
        share = tl.where(there, share, 0.0)
        above = tl.load(
            upstream + (reader * heads * width)[:, None, None] + entry[None, :, :],
            mask=(edge < end)[:, None, None] & inside[None, :, :], other=0.0,
        ).to(tl.float32)  # fmt: skip
        along, passed = tl.sum(above * own[None, :, :], axis=2), share
        if KEPT:
            factor = tl.load(kept + given, mask=there, other=0.0)
            along, passed = along * factor, share * factor
        grad += tl.sum(passed[:, :, None] * above, axis=0)
        found = share * (along - tl.load(delta + at, mask=there, other=0.0))
        found = tl.where(rising, found, slope * found)
        pull += tl.sum(found, axis=0)
        tl.store(pulled + given, found, mask=there)
    tl.store(grad_source + node * heads + h, pull, mask=h < heads)
    tl.store(grad_value + node * heads * width + entry, grad.to(grad_value.dtype.element_ty), mask=inside)


@triton.jit
def _sum(numbers, start, place, sums, heads, EDGES: tl.constexpr, HEADS: tl.constexpr):
    """The grid is nodes, pieces of their heads."""
    node = tl.program_id(0).to(tl.int64)
    h = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    found = tl.zeros([HEADS], tl.float32)
    end = tl.load(start + node + 1)
    for begin in range(tl.load(start + node), end, EDGES):
        edge = begin + tl.arange(0, EDGES)
        given = tl.load(place + edge, mask=edge < end, other=0)
        there = (edge < end)[:, None] & (h < heads)[None, :]
        found += tl.sum(tl.load(numbers + given[:, None] * heads + h[None, :], mask=there, other=0.0), axis=0)
    tl.store(sums + node * heads + h, found, mask=h < heads)
