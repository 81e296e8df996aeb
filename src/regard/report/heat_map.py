"""SVG heat maps, darker for larger values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from regard.report.figure import label, svg
from regard.report.markup import Markup, element
from regard.report.scale import tick_label
from regard.view.text import isolated, visible

_CELL, _SPACIOUS, _LETTER = 19.0, 36.0, 6.6
_MARGIN, _NAME = 8.0, 16.0  # around the picture, and for the names of rows and columns together
_FAINT = 0.01  # of the largest, below which a cell stays empty
_LONGEST = 22  # letters of a name that are shown
_UPRIGHT = 2  # letters of names that stand above their columns; longer ones are turned
_ROWS, _COLUMNS = 60, 120
"""Maximum number of drawn rows and columns; larger maps are cropped."""


def heat_map(
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    title: str,
    *,
    said: Sequence[Sequence[str]] | None = None,
    down: str = "",
    along: str = "",
) -> Markup:
    """Return an SVG with a cell per number, with its value as a tooltip.

    Args:
        values: [R, C]; blue above zero, red below, relative to the largest.
        rows, columns: a name for each; none for their numbers.
        title: label for screen readers.
        said: a text in each cell; None for none.
        down, along: what rows and columns are.
    """
    across = max((len(row) for row in values), default=0)
    grid = _Grid(
        tuple(tuple(row[:_COLUMNS]) for row in values[:_ROWS]),
        tuple(_names(rows, min(len(values), _ROWS))),
        tuple(_names(columns, min(across, _COLUMNS))),
        _CELL if said is None else _SPACIOUS,
        left=_MARGIN + (_NAME if down else 0),
        top=_MARGIN + (_NAME if along else 0),
    )
    parts = [grid.lines(), *grid.cells(), *([] if said is None else grid.inside(said)), *grid.names()]
    if down:
        parts.append(label(down, 11, grid.y(len(grid.rows) / 2), kind="axis", anchor="middle", turned=True))
    if along:
        parts.append(label(along, grid.x(len(grid.columns) / 2), 12, kind="axis", anchor="middle"))
    width, height = grid.x(len(grid.columns)) + _MARGIN, grid.y(len(grid.rows)) + _MARGIN
    return svg(width, height, title, *parts, fixed=True)


def crop_note(rows: int, columns: int) -> str:
    """Return a note about the cropped part of a map; "" if it is complete.

    >>> crop_note(10, 200), crop_note(3, 4)
    ('Shown are the first 120 of 200 columns.', '')
    """
    parts = [
        f"the first {most} of {count:,} {name}"
        for count, most, name in ((rows, _ROWS, "rows"), (columns, _COLUMNS, "columns"))
        if count > most
    ]
    return f"Shown are {' and '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class _Grid:
    """Layout of cells with row names on the left and column names above.

    Attributes:
        values: [R, C].
        rows, columns: the names.
        side: side of a cell.
        left, top: offsets of the names.
    """

    values: tuple[tuple[float, ...], ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    side: float
    left: float
    top: float

    def x(self, column: float) -> float:
        """Return the left edge of a column."""
        return self.left + _LETTER * max(map(cell_len, self.rows), default=0) + self.side * column

    def y(self, row: float) -> float:
        """Return the upper edge of a row."""
        return self.top + (12 if self.upright else _LETTER * max(map(cell_len, self.columns))) + self.side * row

    @property
    def upright(self) -> bool:
        """True if column names fit without rotation."""
        return max(map(cell_len, self.columns), default=0) <= _UPRIGHT

    @property
    def largest(self) -> float:
        """Largest absolute value; 1 if all are zero, to avoid a division by zero."""
        return max((abs(value) for row in self.values for value in row), default=0.0) or 1.0

    def lines(self) -> Markup:
        """Return the lines between the cells, as one path."""
        count, across = len(self.rows), len(self.columns)
        wide, high, left, top = self.side * across, self.side * count, self.x(0), self.y(0)
        level = "".join(f"M{left:.1f} {self.y(row) - 0.5:.1f}h{wide:.1f}" for row in range(count + 1))
        upright = "".join(f"M{self.x(column) - 0.5:.1f} {top:.1f}v{high:.1f}" for column in range(across + 1))
        return element("path", d=level + upright, class_="ground")

    def cells(self) -> Iterator[Markup]:
        """Yield the cells that are not empty."""
        largest, size = self.largest, f"{self.side - 1:g}"
        for row, line in enumerate(self.values):
            for column, value in enumerate(line):
                if abs(value) / largest >= _FAINT:
                    yield element(
                        "rect",
                        element("title", f"{self.rows[row]}, {self.columns[column]}: {tick_label(value)}"),
                        x=f"{self.x(column):.1f}",
                        y=f"{self.y(row):.1f}",
                        width=size,
                        height=size,
                        class_="cell below" if value < 0 else "cell",
                        fill_opacity=f"{abs(value) / largest:.3f}",
                    )

    def inside(self, said: Sequence[Sequence[str]]) -> Iterator[Markup]:
        """Yield the texts in the cells."""
        for row, line in enumerate(said[: len(self.rows)]):
            for column, shown in enumerate(line[: len(self.columns)]):
                strong = abs(self.values[row][column]) / self.largest > 0.55
                kind = "inside strong" if strong else "inside"
                yield label(shown, self.x(column + 0.5), self.y(row + 0.5) + 4, kind=kind, anchor="middle")

    def names(self) -> Iterator[Markup]:
        """Yield the names of rows and columns."""
        for row, name in enumerate(self.rows):
            yield label(name, self.x(0) - 4, self.y(row + 0.5) + 4, anchor="end")
        for column, name in enumerate(self.columns):
            x, y = self.x(column + 0.5), self.y(0) - 4
            yield label(name, x, y, anchor="middle") if self.upright else label(name, x + 4, y, turned=True)


def _names(given: Sequence[str], count: int) -> list[str]:
    names = given[:count] if given else [str(number + 1) for number in range(count)]
    return [isolated(_short(visible(name))) for name in names]


def _short(name: str) -> str:
    shown = "␣" if name.isspace() else name
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
