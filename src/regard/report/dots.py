"""Dot plots: one dot per run, with the mean of each row."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from regard.report.curves import COLOURS
from regard.report.figure import figure, label, line, svg
from regard.report.markup import Markup, element, join_markup
from regard.report.scale import Scale, tick_label
from regard.report.table import numbers_behind
from regard.view.text import isolated

_WIDTH, _ROW, _TOP, _BOTTOM = 420.0, 30.0, 10.0, 38.0
_LETTER, _LONGEST = 6.4, 30


@dataclass(frozen=True)
class Dots:
    """Values of the runs of a row, under its name; `colour` counts from 0."""

    name: str
    values: tuple[float, ...]
    colour: int = 0


def dots_figure(rows: Sequence[Dots], *, of: str, caption: str = "") -> Markup | None:
    """Return a chart with a line per row; None without a value."""
    shown = [row for row in rows if row.values]
    if not shown:
        return None
    names = [isolated(row.name if len(row.name) <= _LONGEST else f"{row.name[: _LONGEST - 1]}…") for row in shown]
    left = 14 + _LETTER * max(map(cell_len, names))
    scale = Scale.over([value for row in shown for value in row.values], left, _WIDTH - 14)
    height = _TOP + _ROW * len(shown) + _BOTTOM
    floor = _TOP + _ROW * len(shown)
    ticks = [
        join_markup(line(x, _TOP, x, floor, "grid"), label(tick_label(at), x, floor + 16, anchor="middle"))
        for at in scale.ticks()
        for x in [scale.place(at)]
    ]
    drawn = [
        join_markup(label(name, left - 8, _TOP + _ROW * (place + 0.5) + 4, anchor="end"), _row(row, place, scale))
        for place, (name, row) in enumerate(zip(names, shown, strict=True))
    ]
    log = " (log)" if scale.logarithmic else ""
    title = label(f"{of}{log}", (left + _WIDTH - 14) / 2, height - 5, kind="axis", anchor="middle")
    said = ", ".join(f"{row.name}: {tick_label(statistics.fmean(row.values))}" for row in shown)
    chart = svg(_WIDTH, height, f"{of}. {said}", join_markup(ticks), join_markup(drawn), title)
    table = [(row.name, f"{value:.5g}") for row in shown for value in row.values]
    words = join_markup(element("b", of), element("span", f" {caption}") if caption else None)
    return figure(chart, words, numbers_behind(["row", of], table, numbers=[1]))


def _row(row: Dots, place: int, scale: Scale) -> Markup:
    y, mean = _TOP + _ROW * (place + 0.5), statistics.fmean(row.values)
    x = scale.place(mean)
    at = f"{y:.1f}"
    dots = [
        element(
            "circle",
            element("title", f"{row.name}: {tick_label(value)}"),
            cx=f"{scale.place(value):.1f}",
            cy=at,
            r="4.5",
        )
        for value in row.values
    ]
    bar = line(x, y - 9, x, y + 9, "whisker") if len(row.values) > 1 else None
    return element("g", bar, dots, class_=f"dots c{row.colour % COLOURS}")
