"""Tables of numbers drawn as cells, darker where numbers are larger."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from regard.report.figure import label, svg
from regard.report.markup import Markup, element, joined
from regard.report.scale import short
from regard.view.text import isolated, visible

_CELL, _LETTER = 19.0, 6.6
_FAINT = 0.01  # of the largest, below which a cell stays empty
_LONGEST = 22  # letters of a name that are shown
_UPRIGHT = 2  # letters of names that stand above their columns; longer ones are turned
_ROWS, _COLUMNS = 60, 120
"""Rows and columns that are drawn; of more, the first."""


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
    """Return a picture with a cell per number, whose value is said where it is pointed at.

    Args:
        values: [R, C]; blue above zero, red below, relative to the largest.
        rows, columns: a name for each; none for their numbers.
        title: for readers of screens.
        said: a text in each cell; None for none.
        down, along: what rows and columns are.
    """
    count, across = min(len(values), _ROWS), min(max((len(row) for row in values), default=0), _COLUMNS)
    left_names = _names(rows, count)
    top_names = _names(columns, across)
    left = 8 + _LETTER * max(map(cell_len, left_names), default=0) + (16 if down else 0)
    upright = max(map(cell_len, top_names), default=0) <= _UPRIGHT
    top = 8 + (12 if upright else _LETTER * max(map(cell_len, top_names), default=0)) + (16 if along else 0)
    largest = max((abs(value) for row in values for value in row), default=0.0) or 1.0
    cells = [
        _cell(left + _CELL * column, top + _CELL * row, value, largest, f"{left_names[row]}, {top_names[column]}")
        for row, line in enumerate(values[:count])
        for column, value in enumerate(line[:across])
        if abs(value) / largest >= _FAINT
    ]
    inside = [] if said is None else [
        label(shown, left + _CELL * (column + 0.5), top + _CELL * row + 13, kind=_ink(values[row][column], largest),
              anchor="middle")
        for row, line in enumerate(said[:count]) for column, shown in enumerate(line[:across])
    ]  # fmt: skip
    beside = [label(name, left - 4, top + _CELL * row + 13, anchor="end") for row, name in enumerate(left_names)]
    above = [
        label(name, left + _CELL * (column + 0.5), top - 4, anchor="middle")
        if upright
        else label(name, left + _CELL * column + 13, top - 4, turned=True)
        for column, name in enumerate(top_names)
    ]
    width, height = left + _CELL * across + 8, top + _CELL * count + 8
    axes = [
        label(down, 11, top + _CELL * count / 2, kind="axis", anchor="middle", turned=True) if down else Markup(""),
        label(along, left + _CELL * across / 2, 12, kind="axis", anchor="middle") if along else Markup(""),
    ]
    return svg(width, height, title, joined(_ground(left, top, across, count), cells, inside, beside, above, axes), fixed=True)


def cropped(rows: int, columns: int) -> str:
    """Return a sentence about what a map leaves out; nothing where all is drawn.

    >>> cropped(10, 200), cropped(3, 4)
    ('Shown are the first 120 of 200 columns.', '')
    """
    parts = [
        f"the first {most} of {count:,} {name}"
        for count, most, name in ((rows, _ROWS, "rows"), (columns, _COLUMNS, "columns"))
        if count > most
    ]
    return f"Shown are {' and '.join(parts)}." if parts else ""


def _names(given: Sequence[str], count: int) -> list[str]:
    names = given[:count] if given else [str(number + 1) for number in range(count)]
    return [isolated(_short(visible(name))) for name in names]


def _short(name: str) -> str:
    shown = "␣" if name.isspace() else name
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _cell(x: float, y: float, value: float, largest: float, name: str) -> Markup:
    strength = f"{abs(value) / largest:.3f}"
    box = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{_CELL - 1:g}", "height": f"{_CELL - 1:g}"}
    title = element("title", f"{name}: {short(value)}")
    return element("rect", title, class_="cell below" if value < 0 else "cell", fill_opacity=strength, **box)


def _ground(left: float, top: float, across: int, down: int) -> Markup:
    """Return the lines between the cells, as one path."""
    rows = "".join(f"M{left:.1f} {top + _CELL * row - 0.5:.1f}h{_CELL * across:.1f}" for row in range(down + 1))
    columns = "".join(f"M{left + _CELL * column - 0.5:.1f} {top:.1f}v{_CELL * down:.1f}" for column in range(across + 1))
    return element("path", d=rows + columns, class_="ground")


def _ink(value: float, largest: float) -> str:
    return "inside strong" if abs(value) / largest > 0.55 else "inside"
