"""Bar charts with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.report.axes import Axes
from regard.report.figure import figure, line, svg
from regard.report.markup import Markup, element, join_markup
from regard.report.scale import tick_label
from regard.report.table import numbers_behind


@dataclass(frozen=True)
class Bar:
    """Value under a name.

    Attributes:
        name: below the bar.
        value: its height.
        count: number of items behind the value.
        low, high: confidence interval; None without one.
    """

    name: str
    value: float
    count: int
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> str:
        """The interval in words; nothing without one."""
        return "" if self.low is None or self.high is None else f"{tick_label(self.low)} to {tick_label(self.high)}"


def bars_figure(
    bars: Sequence[Bar], *, of: str, along: str, counted: str, title: str, caption: str = "", colour: int = 0
) -> Markup:
    """Return a chart of bars.

    Args:
        bars: from left to right.
        of: name of the vertical axis.
        along: name of the horizontal axis.
        counted: plural name of the items in `count`.
        title: title of the figure.
        caption: sentence after the title.
        colour: index in the palette, from 0.
    """
    tops = [top for bar in bars for top in (bar.value, bar.high or bar.value)]
    axes = Axes.for_bars(len(bars), tops)
    said = ", ".join(f"{bar.name}: {tick_label(bar.value)}" for bar in bars[:12])
    chart = svg(
        axes.width,
        axes.height,
        f"{title}. {said}",
        axes.grid_of_bars(_thinned([bar.name for bar in bars]), along, of),
        element("g", [_drawn(axes, place, bar, counted) for place, bar in enumerate(bars)], class_=f"bars c{colour}"),
    )
    heads = [along, of, *(["interval"] if any(bar.interval for bar in bars) else []), counted]
    rows = [
        (bar.name, tick_label(bar.value), *([bar.interval] if "interval" in heads else []), f"{bar.count:,}")
        for bar in bars
    ]
    described = join_markup(element("b", title), element("span", f" {caption}") if caption else None)
    return figure(chart, described, numbers_behind(heads, rows, numbers=range(1, len(heads))))


def _drawn(axes: Axes, place: int, bar: Bar, counted: str) -> Markup:
    left, right = axes.along.place(place + 0.12), axes.along.place(place + 0.88)
    floor, top = axes.up.place(0.0), axes.up.place(bar.value)
    said = f"{bar.name}: {tick_label(bar.value)}{f' [{bar.interval}]' if bar.interval else ''}, {bar.count:,} {counted}"
    box = element(
        "rect",
        element("title", said),
        x=f"{left:.1f}",
        y=f"{min(top, floor):.1f}",
        width=f"{right - left:.1f}",
        height=f"{max(0.5, abs(floor - top)):.1f}",
    )
    if bar.low is None or bar.high is None:
        return box
    middle = (left + right) / 2
    return join_markup(box, line(middle, axes.up.place(bar.low), middle, axes.up.place(bar.high), "whisker"))


def _thinned(names: Sequence[str]) -> list[str]:
    """Blank out names that would overlap: keep every first, second, third, ..."""
    widest = max(map(len, names), default=1)
    every = max(1, -(-len(names) * (widest + 1) * 7 // 350))
    return [name if place % every == 0 else "" for place, name in enumerate(names)]
