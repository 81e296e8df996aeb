"""Picture of a comparison: learning curve and final result of each row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.compare.comparison import Comparison
from regard.compare.result import ResultRow, Spread, higher_is_better, measured
from regard.compare.table import number
from regard.runs.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP"
_DRAWN = 4  # measures, at most
_LABEL = 44  # letters of a row's name, at most
_LETTER = 0.085  # inches
_WIDE = 20.0
"""Values of a curve that lie further apart than this, by their ratio, are drawn on a logarithmic scale."""


class _Look(NamedTuple):
    """Colour and mark of a row in both panels."""

    label: str
    colour: str
    marker: str


def draw(comparison: Comparison, rows: Sequence[ResultRow], path: Path) -> None:
    """Write a PNG: for each measure the validation curves with bands of ± a standard deviation, and a dot per row.

    The measure that selects the model comes first, then the metrics that the recipe asks for.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = _measures(comparison, rows)
    looks = [_look(comparison, row, place) for place, row in enumerate(rows)]
    width = 9.5 + _LETTER * max(len(look.label) for look in looks)
    figure, axes = pyplot.subplots(
        len(names),
        2,
        figsize=(width, len(names) * max(3.6, 1.5 + 0.27 * len(rows))),
        layout="constrained",
        squeeze=False,
        gridspec_kw={"width_ratios": (1.25, 1)},
    )
    for name, (left, right) in zip(names, axes, strict=True):
        split = "test" if ("test", name) in measured(rows) else "valid"
        _curves(left, [row.curve(name) for row in rows], looks)
        left.set(xlabel="step", ylabel=f"valid {name}", title=comparison.folder.name)
        _dots(right, [row.measure(split, name) for row in rows], looks)
        right.set(xlabel=f"{split} {name} ({_way(name)})", title=f"by {', '.join(comparison.heads.values()) or 'run'}")
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png", dpi=150)
    pyplot.close(figure)


def _measures(comparison: Comparison, rows: Sequence[ResultRow]) -> list[str]:
    """Return the measures to draw: the selecting one, then the metrics."""
    recipe = comparison.trials[0].recipe
    known = {name for _, name in measured(rows)}
    asked = (*recipe.select[1:], *(metric.label for metric in recipe.metrics))
    found = dict.fromkeys((recipe.select[0], *(name for name in asked if name in known)))
    return list(found)[:_DRAWN]


def _curves(axis: Axes, curves: Sequence[dict[int, Spread]], looks: Sequence[_Look]) -> None:
    for curve, look in zip(curves, looks, strict=True):
        steps, means = list(curve), [spread.mean for spread in curve.values()]
        axis.plot(steps, means, color=look.colour, marker=look.marker, markersize=4, linewidth=1.4)
        if any(spread.deviation for spread in curve.values()):
            low, high = zip(*(_band(spread) for spread in curve.values()), strict=True)
            axis.fill_between(steps, low, high, color=look.colour, alpha=0.15, linewidth=0)
    values = [spread.mean for curve in curves for spread in curve.values()]
    if values and min(values) > 0 and max(values) / min(values) > _WIDE:
        axis.set_yscale("log")
    axis.grid(alpha=0.3)


def _dots(axis: Axes, spreads: Sequence[Spread | None], looks: Sequence[_Look]) -> None:
    """Draw the rows from top to bottom: name, number, and a dot in the colour of its curve."""
    for place, (spread, look) in enumerate(zip(spreads, looks, strict=True)):
        if spread is not None:
            axis.errorbar(
                spread.mean,
                place,
                xerr=spread.deviation,
                color=look.colour,
                marker=look.marker,
                markersize=7,
                capsize=3,
            )
    places = range(len(looks))
    axis.set_yticks(places, [look.label for look in looks])
    numbers = axis.twinx()
    numbers.set_yticks(places, [number(spread) for spread in spreads])
    for side in (axis, numbers):
        side.set_ylim(len(looks) - 0.4, -0.6)
        side.tick_params(axis="y", length=0)
    axis.grid(alpha=0.3)
    axis.margins(x=0.12)


def _look(comparison: Comparison, row: ResultRow, place: int) -> _Look:
    """Ten colours, and another marker after every ten; the values for a name, long ones without their middle."""
    values = list(row.values.values()) or [comparison.folder.name]
    spare = _LABEL - sum(map(len, values))
    label = " · ".join(_shortened(value, max(_LABEL // len(values), len(value) + spare)) for value in values)
    return _Look(label.replace("$", r"\$"), f"C{place % 10}", _MARKERS[place // 10 % len(_MARKERS)])


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[most // 2 - most + 1 :]}"


def _band(spread: Spread) -> tuple[float, float]:
    deviation = spread.deviation or 0.0
    return spread.mean - deviation, spread.mean + deviation


def _way(name: str) -> str:
    return {True: "higher is better", False: "lower is better", None: "no known direction"}[higher_is_better(name)]
