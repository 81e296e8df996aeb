"""What each node that is read pulls at: the edges of those who read it; and sums of numbers of edges."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.ops.graph.edges import Sorted
from regard.ops.graph.kernels.tile import tile


def pull_edges(
    as_source: Tensor,
    as_target: Tensor,
    value: Tensor,
    kept: Tensor | None,
    top: Tensor,
    total: Tensor,
    delta: Tensor,
    upstream: Tensor,
    edges: Sorted,
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


def sum_edges(numbers: Tensor, edges: Sorted) -> Tensor:
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
