"""Queries or keys as the kernels read them: widened, transposed, padded, and as exponentials where these are used."""

import triton
import triton.language as tl

from regard.ops.additive.kernels.device import exponential


@triton.jit
def prepare(
    source, across, along, bound,
    rows, width, heads, padded_rows, padded_width, even_width,
    stride_b, stride_h, stride_row, stride_a,
    EXPONENTIAL: tl.constexpr, ALONG: tl.constexpr, GRANULE: tl.constexpr, BLOCK: tl.constexpr, BLOCK_A: tl.constexpr,
):  # fmt: skip
    """source [B, H, rows, A] -> across [G, slices, even A, GRANULE], along [G, padded rows, padded A], padded with 0.

    `bound` [G] is the largest |entry| of each group.
    """
    group = tl.program_id(1).to(tl.int64)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    start = source + (group // heads) * stride_b + (group % heads) * stride_h
    largest = tl.zeros([BLOCK], tl.float32)
    for first in range(0, padded_width, BLOCK_A):
        a = first + tl.arange(0, BLOCK_A)
        inside = (row < rows)[:, None] & (a < width)[None, :]
        entry = tl.load(start + row[:, None] * stride_row + a[None, :] * stride_a, mask=inside, other=0.0)
        entry = entry.to(tl.float32)
        largest = tl.maximum(largest, tl.max(tl.abs(entry), axis=1))
        if EXPONENTIAL:  # beyond 22 the product is not taken; a NaN stays one
            entry = tl.where(entry > 22.0, 22.0, tl.where(entry < -22.0, -22.0, entry))
            entry = tl.where(inside, exponential(2.0 * entry, False), 0.0)
        place = group * even_width * padded_rows + a[None, :] * GRANULE + (row % GRANULE)[:, None]
        place += (row // GRANULE)[:, None] * even_width * GRANULE
        tl.store(across + place, entry, mask=(a < even_width)[None, :] & (row < padded_rows)[:, None])
        if ALONG:
            place = (group * padded_rows + row)[:, None] * padded_width + a[None, :]
            tl.store(along + place, entry, mask=(row < padded_rows)[:, None] & (a < padded_width)[None, :])
    tl.atomic_max(bound + group, tl.max(largest, axis=0))
