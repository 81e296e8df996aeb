"""Line charts over training steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from regard.report.axes import Axes
from regard.report.figure import figure, label, line, svg
from regard.report.markup import Markup, element, join_markup, text
from regard.report.scale import tick_label
from regard.report.table import numbers_behind

_DOTS = 40  # maximum number of points with markers
_MOST = 1_000  # maximum number of points per curve, evenly subsampled
_LISTED = 400  # rows of the table behind
COLOURS = 8
"""Curves that differ in colour; further ones are dashed."""


@dataclass(frozen=True)
class Point:
    """Value at a step, with a band of ± one standard deviation over several runs."""

    step: float
    value: float
    deviation: float | None = None


@dataclass(frozen=True)
class Curve:
    """Points under one name; `colour` counts from 0."""

    name: str
    points: tuple[Point, ...]
    colour: int = 0


def curves_figure(
    curves: Sequence[Curve], *, of: str, caption: str = "", along: str = "step", marked: tuple[float, str] | None = None
) -> Markup | None:
    """Return a chart of curves; None without a finite value.

    Args:
        curves: the curves.
        of: the name of the values.
        caption: a sentence behind it.
        along: the name of the steps.
        marked: a step with a vertical line and its name.
    """
    shown = [found for curve in curves if (found := _finite(curve)).points]
    if not shown:
        return None
    points = [point for curve in shown for point in curve.points]
    least = min(point.value for point in points)
    ends = [point.value + sign * (point.deviation or 0.0) for point in points for sign in (-1, 1)]
    axes = Axes.over([point.step for point in points], [max(end, least / 2) for end in ends] if least > 0 else ends)
    chart = svg(
        axes.width,
        axes.height,
        f"{of} by {along}: {', '.join(map(_said, shown))}",
        axes.grid(along, of),
        Markup("") if marked is None else _mark(axes, *marked),
        *(_drawn(axes, curve) for curve in shown),
    )
    lost = sum(len(curve.points) for curve in curves) - sum(map(len, (curve.points for curve in shown)))
    notes = [caption] if caption else []
    notes += [f"{lost:,} values that are not finite are left out."] if lost else []
    title = join_markup(element("b", of), _legend(shown), *(element("span", f" {note}") for note in notes))
    return figure(chart, title, _behind(shown, of, along))


def _finite(curve: Curve) -> Curve:
    """Return a curve without non-finite values, subsampled to the maximum number of points."""
    kept = [point for point in curve.points if math.isfinite(point.value)]
    every = max(1, -(-len(kept) // _MOST))
    return replace(curve, points=tuple([*kept[::every], *kept[-1:]] if every > 1 else kept))


def _said(curve: Curve) -> str:
    return f"{curve.name} from {tick_label(curve.points[0].value)} to {tick_label(curve.points[-1].value)}"


def _mark(axes: Axes, step: float, name: str) -> Markup:
    x = axes.along.place(step)
    near = x > axes.width * 0.75
    return join_markup(
        line(x, axes.up.end, x, axes.up.start, "marked"),
        label(name, x - 4 if near else x + 4, axes.up.end + 9, kind="tick mark", anchor="end" if near else None),
    )


def _drawn(axes: Axes, curve: Curve) -> Markup:
    places = [(axes.along.place(point.step), axes.up.place(point.value)) for point in curve.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    kind = _kind(curve)
    dots = [_dot(place, curve, point) for place, point in zip(places, curve.points, strict=True)]
    shown = "" if len(dots) <= _DOTS else " faint"
    return element("g", _band(axes, curve), element("polyline", points=path, class_="curve"), dots, class_=kind + shown)


def _dot(place: tuple[float, float], curve: Curve, point: Point) -> Markup:
    spread = f" ± {tick_label(point.deviation)}" if point.deviation else ""
    said = element("title", f"{curve.name}, {point.step:,g}: {tick_label(point.value)}{spread}")
    return element("circle", said, cx=f"{place[0]:.1f}", cy=f"{place[1]:.1f}", r="3")


def _band(axes: Axes, curve: Curve) -> Markup | None:
    if not any(point.deviation for point in curve.points):
        return None
    above = [(point.step, point.value + (point.deviation or 0.0)) for point in curve.points]
    below = [(point.step, point.value - (point.deviation or 0.0)) for point in reversed(curve.points)]
    path = " ".join(f"{axes.along.place(step):.1f},{axes.up.place(value):.1f}" for step, value in above + below)
    return element("polygon", points=path, class_="band")


def _kind(curve: Curve) -> str:
    return f"series c{curve.colour % COLOURS}" + (" dashed" if curve.colour >= COLOURS else "")


def _legend(curves: Sequence[Curve]) -> Markup:
    keys = [
        element("span", element("i", class_=f"swatch c{curve.colour % COLOURS}"), text(curve.name), class_="key")
        for curve in curves
    ]
    return element("span", keys, class_="legend")


def _behind(curves: Sequence[Curve], of: str, along: str) -> Markup:
    rows = [
        (
            f"{point.step:,g}",
            curve.name,
            f"{point.value:.5g}",
            "" if point.deviation is None else f"{point.deviation:.2g}",
        )
        for curve in curves
        for point in curve.points[:: max(1, -(-len(curve.points) * len(curves) // _LISTED))]
    ]
    deviating = any(row[3] for row in rows)
    heads = [along, "curve", of, *(["±"] if deviating else [])]
    return numbers_behind(heads, [row if deviating else row[:3] for row in rows], numbers=[0, 2, 3])
