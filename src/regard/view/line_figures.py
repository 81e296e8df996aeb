"""Line figures: weights between two columns of tokens, curves over time, and query-key products by dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.explain.lazy_rows import to_float32
from regard.explain.panel import HeadsPanel, Panel
from regard.view.drawing import Drawing, Look, inches_of, name_of
from regard.view.map_figures import sequential
from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

SERIES = ("#0072b2", "#d55e00", "#007a5a", "#a8487f", "#8a6a00", "#3a3a3a", "#2b8fc4", "#7a3600", "#5b4b9e", "#5c7a00")
"""Colour-blind safe palette."""
_ROW = 0.2  # inches of a token
_BETWEEN = 2.8  # inches between the two columns
_THICKEST = 4.0  # points of the line of the largest weight
_FAINTEST = 0.03  # of the largest weight, below which no line is drawn
_MOST = 80  # tokens that have room
_NAMED = 80


def lines(panel: Panel, look: Look) -> Drawing:
    """Return two columns of tokens, connected by lines with width and opacity proportional to the weight.

    Raises:
        ValueError: there are more tokens than a picture has room for.
    """
    values = to_float32(panel.values)
    rows, columns = values.shape
    if max(rows, columns) > _MOST:
        raise ValueError(f"lines between {rows} and {columns} tokens fill no picture; take .html, or a heat map")
    top = float(np.abs(values).max()) or 1.0
    sides = [
        inches_of((*names, title), look) + 0.15
        for names, title in ((panel.rows, panel.down), (panel.columns, panel.along))
    ]
    width = look.width or sum(sides) + _BETWEEN
    between = max(0.5, width - 0.2 - sum(sides))

    def on(figure: FigureBase) -> None:
        axis: Axes = figure.subplots()
        for row, column in zip(*np.nonzero(np.abs(values) >= _FAINTEST * top), strict=True):
            _line(axis, int(row), int(column), float(values[row, column]) / top)
        for names, count, x, side in ((panel.rows, rows, -0.03, "right"), (panel.columns, columns, 1.03, "left")):
            for index in range(count):
                name = name_of(names[index]) if names else str(index + 1)
                axis.text(x, index, name, ha=side, va="center", fontsize=look.font)
        axis.set(xlim=(-sides[0] / between, 1 + sides[1] / between), ylim=(max(rows, columns) - 0.5, -1.2))
        axis.text(-0.03, -0.9, plain_name(panel.down), ha="right", va="center", fontsize=look.font, color="0.35")
        axis.text(1.03, -0.9, plain_name(panel.along), ha="left", va="center", fontsize=look.font, color="0.35")
        axis.axis("off")

    height, note = _ROW * (max(rows, columns) + 1) + 0.5, f"as wide as the weight, {top:.2g} at most"
    return Drawing(width, height, on, panel.title, note, look.title)


def _line(axis: Axes, row: int, column: int, part: float) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    size = abs(part)
    bend = Path([(0, row), (0.5, row), (0.5, column), (1, column)], [Path.MOVETO, *[Path.CURVE4] * 3])
    axis.add_patch(
        PathPatch(
            bend,
            fill=False,
            edgecolor=SERIES[0],
            linewidth=0.4 + _THICKEST * size,
            alpha=0.12 + 0.78 * size**0.5,
            linestyle="--" if part < 0 else "-",
            capstyle="round",
        )
    )


def curves(panel: Panel, look: Look) -> Drawing:
    """Return a curve for each row over the columns."""
    values = to_float32(panel.values)
    steps = values.shape[1]
    width = look.width or min(12.0, max(4.5, 0.17 * steps + 1.8))

    def on(figure: FigureBase) -> None:
        axis: Axes = figure.subplots()
        for row, curve in enumerate(values):
            name = name_of(panel.rows[row]) if panel.rows else str(row + 1)
            style = ("-", "--", ":", "-.")[row // len(SERIES) % 4]
            axis.plot(curve, color=SERIES[row % len(SERIES)], linestyle=style, linewidth=1.2, label=name)
        if 0 < len(panel.columns) <= _NAMED:
            axis.set_xticks(range(steps), [name_of(name) for name in panel.columns], rotation=90)
        axis.tick_params(labelsize=look.font, length=2)
        axis.set_xlabel(plain_name(panel.along), fontsize=look.font + 1)
        axis.set_ylabel(plain_name(panel.down), fontsize=look.font + 1)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="0.9")
        axis.legend(fontsize=look.font, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))

    return Drawing(width, 2.6 if look.width is None else 2.0, on, panel.title, points=look.title)


def neurons(panel: HeadsPanel, look: Look) -> Drawing:
    """Return the products of the first row's query with every key, by dimension, in the first layer and head."""
    assert panel.queries is not None
    assert panel.keys is not None
    query, keys = to_float32(panel.queries[0, 0, 0]), to_float32(panel.keys[0, 0])
    weights = to_float32(panel.weights[0, 0, 0])[:, None]
    parts = [("key", keys), ("query × key", keys * query), ("weight", weights)]

    def on(figure: FigureBase) -> None:
        axes = figure.subplots(1, 3, width_ratios=[5, 5, 1])
        for axis, (name, values) in zip(axes, parts, strict=True):
            top = float(np.abs(values).max()) or 1.0
            signed = name != "weight"
            colours = {"cmap": "PuOr", "vmin": -top} if signed else {"cmap": sequential(), "vmin": 0.0}
            axis.imshow(values, aspect="auto", interpolation="nearest", vmax=top, **colours)
            axis.set_title(name, fontsize=look.font)
            axis.set(xticks=[], yticks=[])
        names = [name_of(name) for name in panel.columns] or [str(key + 1) for key in range(len(keys))]
        axes[0].set_yticks(range(len(keys)), names)
        axes[0].tick_params(labelsize=look.font, length=2)

    first = panel.rows[0] if panel.rows else "1"
    title, note = f"{panel.title}: query of {first}, layer 1, head 1", "orange: below zero, violet: above"
    return Drawing(look.width or 7.0, min(12.0, max(1.2, _ROW * len(keys)) + 0.8), on, title, note, look.title)
