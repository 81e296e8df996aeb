"""What each node reads: its edges some at a time, with an online softmax."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.ops.graph.edges import Sorted
from regard.ops.graph.kernels.tile import tile


def read_edges(
    as_source: Tensor,
    as_target: Tensor,
    value: Tensor,
    kept: Tensor | None,
    edges: Sorted,
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
