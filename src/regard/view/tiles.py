r"""Tiled weight maps: at most 8 bits per weight on a square-root scale, in a pyramid of increasingly coarse levels.

    q = round(n sign(w) sqrt(|w| / full)),  0 where |w| < floor        n = 255, 127 of signed values, or fewer

The quantisation error of a weight w is about sqrt(w full) / n, so small weights stay visible. Each coarser level
max-pools 2 x 2 cells by magnitude, so a single strong weight is visible at any zoom. Rows are streamed: only one row of
tiles per level is in memory, never the whole map.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.explain.lazy_rows import LazyRows
from regard.view.blobs import Blobs, Place

TILE = 512
"""Cells of a tile's sides."""
EXACT_CELLS = 1 << 18
"""Cells of the panels whose weights are kept in float32 besides: 1 MiB."""
LARGEST = 8
"""Weights of each row that are kept in float32 of a larger map."""
_GROUP = 32  # columns of a group, of which the largest of a row are looked for

Pixels = NDArray[np.integer[Any]]


@dataclass
class _Level:
    """Pyramid level: receives rows of pixels, writes tiles, and passes pooled rows to the next coarser level."""

    columns: int
    blobs: Blobs
    above: _Level | None
    rows: int = 0
    tiles: list[Place | int] = field(default_factory=list)
    waiting: list[Pixels] = field(default_factory=list)
    odd: Pixels | None = None

    def push(self, pixels: Pixels) -> None:
        """Take more rows [n, columns]."""
        self.rows += len(pixels)
        if self.above is not None:
            pair = pixels if self.odd is None else np.concatenate([self.odd, pixels])
            even = len(pair) // 2 * 2
            self.odd = pair[even:] if even < len(pair) else None
            if even:
                self.above.push(pooled(pair[:even], 2))
        while len(pixels):
            missing = TILE - sum(map(len, self.waiting))
            self.waiting.append(pixels[:missing])
            pixels = pixels[missing:]
            if sum(map(len, self.waiting)) == TILE:
                self._cut()

    def close(self) -> None:
        """Write the remaining rows as a final, incomplete row of tiles."""
        if self.waiting:
            self._cut()
        if self.above is not None:
            if self.odd is not None:
                self.above.push(pooled(self.odd, 2))
            self.above.close()

    def _cut(self) -> None:
        strip = np.concatenate(self.waiting)
        self.waiting = []
        for begin in range(0, self.columns, TILE):
            tile = strip[:, begin : begin + TILE]
            self.tiles.append(self.blobs.add_pixels(tile) if tile.any() else 0)


def pooled(values: NDArray[Any], side: int) -> NDArray[Any]:
    """Max-pool squares of cells by magnitude; squares at the edges may be smaller.

    Args:
        values: [R, C].
        side: cells of a square's sides, a power of two.

    >>> pooled(np.array([[1, -5, 2], [0, 3, 1]]), 2)
    array([[-5,  2]])
    """
    rows, columns = -(-values.shape[0] // side) * side, -(-values.shape[1] // side) * side
    if (rows, columns) != values.shape:
        values = np.pad(values, ((0, rows - values.shape[0]), (0, columns - values.shape[1])))
    high = _reduced(np.maximum, values, side)
    if values.dtype.kind == "u":
        return high
    low = _reduced(np.minimum, values, side)
    extreme: NDArray[Any] = np.where(-low > high, low, high)
    return extreme


def _reduced(larger: np.ufunc, values: NDArray[Any], side: int) -> NDArray[Any]:
    """Reduce squares by repeated halving, which is many times faster than a reduction over short axes."""
    while side > 1:
        values = larger(values[::2], values[1::2])
        values = larger(values[:, ::2], values[:, 1::2])
        side //= 2
    return values


def quantised(values: NDArray[np.float32], how: Tiling) -> Pixels:
    """Quantise values to 8 bits.

    >>> quantised(np.array([[0.0, 0.25, 1.0]], np.float32), Tiling(1.0))
    array([[  0, 128, 255]], dtype=uint8)
    >>> quantised(np.array([[-1.0, 0.25]], np.float32), Tiling(1.0, signed=True))
    array([[-127,   64]], dtype=int8)
    """
    size = np.abs(values) if how.signed else values.clip(min=0.0)
    if how.floor:
        size[size < how.floor] = 0.0
    # In place: a strip has millions of values.
    size /= how.full
    np.sqrt(size, out=size)
    size *= how.steps
    np.rint(size, out=size)
    np.minimum(size, how.steps, out=size)
    return np.copysign(size, values, out=size).astype(np.int8) if how.signed else size.astype(np.uint8)


def largest(values: NDArray[np.float32], count: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return columns and values of the largest magnitudes of each row, [n, count], largest first.

    >>> largest(np.array([[0.1, -0.9, 0.5]], np.float32), 2)
    (array([[1, 2]], dtype=int32), array([[-0.9,  0.5]], dtype=float32))
    """
    size = np.abs(values)
    part = _candidates(size, count)
    found = np.take_along_axis(size, part, 1)
    order = np.lexsort((part, -found), axis=1)[:, :count]  # of equal weights the first column
    columns = np.take_along_axis(part, order, 1)
    return columns.astype(np.int32), np.take_along_axis(values, columns, 1)


def _candidates(size: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return columns [n, k] among which the largest of each row are: those of the groups with the largest maxima.

    Group g of G has the columns g, g + G, g + 2 G, ...: so maxima run over whole rows, which is fast.
    """
    rows, width = size.shape
    groups = width // _GROUP
    if groups <= count:
        return np.broadcast_to(np.arange(width), size.shape)
    tops = size[:, : groups * _GROUP].reshape(rows, _GROUP, groups).max(1)  # [n, groups]
    best = np.argpartition(tops, -count, axis=1)[:, -count:]  # [n, count]
    inside = (best[:, :, None] + groups * np.arange(_GROUP)).reshape(rows, -1)
    # The remaining columns form no full group and are always candidates.
    behind = np.broadcast_to(np.arange(groups * _GROUP, width), (rows, width - groups * _GROUP))
    return np.concatenate([inside, behind], axis=1)


@dataclass(frozen=True)
class Tiling:
    """Storage of a map.

    Attributes:
        full: the magnitude of the largest q.
        signed: True if there are negative values.
        exact: keep all values in float32 besides.
        largest: otherwise, number of values per row kept in float32, the largest ones.
        thumbnail: a level of at most 64 cells per side, for pictures of many maps.
        shades: the number of shades beside zero; half of them for either sign.
        floor: the least magnitude that has a shade.
        power: a cell of the finest level is 2^power x 2^power weights.
    """

    full: float
    signed: bool = False
    exact: bool = True
    largest: int = LARGEST
    thumbnail: bool = False
    shades: int = 255
    floor: float = 0.0
    power: int = 0

    @property
    def steps(self) -> int:
        """The q of the largest magnitude."""
        return self.shades // 2 if self.signed else self.shades


def _pixels(part: NDArray[np.float32], how: Tiling) -> Pixels:
    """Return the pixels of some rows; skips tiles in which all values round to zero."""
    side, width = 1 << how.power, part.shape[1]
    made = np.zeros((_cells(len(part), how.power), _cells(width, how.power)), np.int8 if how.signed else np.uint8)
    tops = (np.abs(part) if how.signed else part).max(0)  # of each column
    least = max(how.floor, how.full * (0.49 / how.steps) ** 2)  # smaller magnitudes round to zero
    for begin in range(0, width, TILE * side):
        end = begin + TILE * side
        if tops[begin:end].max() >= least:
            cells = part[:, begin:end]
            made[:, begin // side : _cells(end, how.power)] = quantised(pooled(cells, side) if side > 1 else cells, how)
    return made


def tiled(rows: LazyRows, how: Tiling, blobs: Blobs) -> dict[str, Any]:
    """Return the viewer's description of a map, and append its bytes to `blobs`.

    Args:
        rows: the map.
        how: its scale, and what of it is kept exactly.
        blobs: takes the tiles.
    """
    height, width = rows.shape
    power = how.power
    levels = _levels(_cells(width, power), max(_cells(height, power), _cells(width, power)), blobs)
    exact, columns, values = [], [], []
    thumbnail = _Thumbnail(rows.shape) if how.thumbnail else None
    count = 0 if how.exact else min(how.largest, width)
    for part in strips(rows, 1 << power):
        levels[0].push(_pixels(part, how))
        if how.exact:
            exact.append(part)
        if count:
            where, what = largest(part, count)
            columns.append(where if width > 1 << 16 else where.astype(np.uint16))
            values.append(what)
        if thumbnail is not None:
            thumbnail.push(part)
    levels[0].close()
    described: dict[str, Any] = {"rows": height, "columns": width, "full": how.full, "signed": how.signed}
    described |= {"steps": how.steps, "floor": how.floor, "power": power}
    described["levels"] = [{"rows": one.rows, "columns": one.columns, "tiles": one.tiles} for one in levels]
    if how.exact:
        described["exact"] = blobs.add(np.concatenate(exact))
    if count:
        described["largest"] = [count, blobs.add(np.concatenate(columns)), blobs.add(np.concatenate(values))]
    if thumbnail is not None:
        small = quantised(thumbnail.cells, how)
        described["thumbnail"] = [*small.shape, blobs.add(small)]
    return described


def _cells(cells: int, power: int) -> int:
    return -(-cells // (1 << power))


def _levels(columns: int, side: int, blobs: Blobs) -> list[_Level]:
    """Levels from the finest to one of a single tile, each knowing the one above it."""
    widths = [columns]
    while side > TILE:
        side = -(-side // 2)
        widths.append(-(-widths[-1] // 2))
    levels: list[_Level] = []
    for width in reversed(widths):
        levels.insert(0, _Level(width, blobs, levels[0] if levels else None))
    return levels


class _Thumbnail:
    """A picture of a map of at most 64 cells per side."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._steps = [max(1, -(-side // 64)) for side in shape]
        self.cells = np.zeros([-(-side // step) for side, step in zip(shape, self._steps, strict=True)], np.float32)
        self._row = 0

    def push(self, part: NDArray[np.float32]) -> None:
        """Take more rows."""
        down, along = self._steps
        wide = np.pad(part, ((0, 0), (0, -part.shape[1] % along))).reshape(len(part), -1, along)
        extreme = np.where(-wide.min(2) > wide.max(2), wide.min(2), wide.max(2))
        for row in extreme:
            cell = self.cells[self._row // down]
            cell[:] = np.where(np.abs(row) > np.abs(cell), row, cell)
            self._row += 1


def strips(rows: LazyRows, multiple: int) -> Iterator[NDArray[np.float32]]:
    """Yield rows of a map in float32, about 16 MiB at a time, a multiple of the squares that are pooled."""
    height, width = rows.shape
    step = max(1, (1 << 22) // max(1, width) // multiple) * multiple
    for begin in range(0, height, step):
        yield rows.read(begin, min(height, begin + step))
