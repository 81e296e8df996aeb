"""Choice of precision for large maps: the finest level within a page size budget, estimated from sampled strips.

    page  =  0.08 bytes per weight, at least 3 MB and at most 25 MB

Maps that compress well, such as peaked weights, keep 8 bits per weight. For others, the number of shades is reduced
first, then small weights are dropped, and finally squares of weights are max-pooled into a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from regard.explain.lazy_rows import LazyRows
from regard.view.blobs import packed_pixels
from regard.view.tiles import TILE, Pixels, Tiling, pooled, quantised

_PER_WEIGHT, _LEAST, _MOST = 0.08, 3_000_000, 25_000_000
_BASE64 = 4 / 3
_STRIPS, _TALL = 24, 64  # 64 rows can be pooled six times
_FINE = 255
_SHADES: tuple[tuple[int, float], ...] = ((_FINE, 0.0), (63, 0.0), (31, 0.0), (31, 0.002), (31, 0.005), (31, 0.01))
"""Shades, and the share of the largest weight below which none is kept, from fine to coarse."""
_COARSE = 3  # of these, those of cells that several weights share
_POWERS = 7


def budget(weights: int) -> float:
    """Return the page size budget in bytes for a number of weights.

    >>> budget(512 * 512), budget(10_000 ** 2), budget(100_000 ** 2)
    (3000000, 8000000.0, 25000000)
    """
    return min(_MOST, max(_LEAST, _PER_WEIGHT * weights))


def affordable(maps: Sequence[LazyRows], how: Tiling, most: float) -> Tiling:
    """Return the finest tiling whose tiles fit into `most` bytes of a page.

    Args:
        maps: of one shape and scale.
        how: the scale.
        most: bytes of the page.
    """
    sizes = _sizes(maps, replace(how, shades=_FINE))
    side, ladder = max(maps[0].shape), []
    for power in range(_POWERS):
        last = next(level for level in range(power, 64) if -(-side // (1 << level)) <= TILE)
        for kind in _SHADES[: _COARSE if power else None]:
            shades, share = kind
            ladder.append(replace(how, shades=shades, floor=share * how.full, power=power))
            if sum(sizes[kind][power : last + 1]) <= most:
                return ladder[-1]
    return ladder[-1]


def _sizes(maps: Sequence[LazyRows], fine: Tiling) -> dict[tuple[int, float], list[float]]:
    """Return bytes of a page that each level of all maps takes, by shades and floor, as a sample tells."""
    sizes = {kind: [0.0] * _POWERS for kind in _SHADES}
    tables = {kind: _table(fine, *kind) for kind in _SHADES}
    sampled = list(_sample(maps))
    share = len(maps) * maps[0].shape[0] / sum(last - first for _, first, last in sampled)
    for number, first, last in sampled:
        pixels = quantised(maps[number].read(first, last), fine)
        for level in range(_POWERS):
            pixels = pooled(pixels, 2) if level else pixels
            for kind, table in tables.items():
                sizes[kind][level] += share * _BASE64 * _bytes(table[pixels.view(np.uint8)])
    return sizes


def _sample(maps: Sequence[LazyRows]) -> Iterator[tuple[int, int, int]]:
    """Yield strips of rows spread over all maps: map index, first row, end row (exclusive)."""
    height = maps[0].shape[0]
    strips = -(-height // _TALL)
    every = len(maps) * strips
    for index in sorted({int((one + 0.5) * every / _STRIPS) for one in range(_STRIPS)}):
        number, strip = divmod(index, strips)
        yield number, strip * _TALL, min(height, (strip + 1) * _TALL)


def _table(fine: Tiling, shades: int, share: float) -> Pixels:
    """Return the coarse pixel of each fine one, by its byte."""
    steps = np.arange(256, dtype=np.uint8).view(np.int8 if fine.signed else np.uint8).astype(np.float32)
    values: NDArray[np.float32] = np.sign(steps) * np.square(steps / np.float32(fine.steps)) * np.float32(fine.full)
    return quantised(values, replace(fine, shades=shades, floor=share * fine.full))


def _bytes(pixels: Pixels) -> int:
    tiles = (pixels[:, begin : begin + TILE] for begin in range(0, pixels.shape[1], TILE))
    return sum(len(packed_pixels(tile)[0]) for tile in tiles if tile.any())
