"""Matplotlib heat maps: a single map, and thumbnails of all layers and heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.explain.lazy_rows import to_float32
from regard.explain.panel import HeadsPanel, Panel, StreamedPanel
from regard.view.drawing import Drawing, Look, inches_of, name_of
from regard.view.text import plain_name
from regard.view.tiles import pooled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import FigureBase

_CELL, _LEAST, _MOST = 0.2, 1.0, 12.0  # inches of a cell; of a map's sides, at least and at most
_NAMED = 64  # rows or columns that are named one by one; of more, only some are numbered
_FINEST = 2048  # cells of a picture's sides; a larger map is pooled
_THUMBNAIL = 0.75  # inches of one of many maps
_PERCENT = 40  # rows or columns of a map with frames up to which its weights are written into the cells
_LINEAR = 64  # columns up to which their colours are linear
_GOLD = "#d0720a"
_STOPS = ("#ffffff", "#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58")


def heatmap(panel: Panel, look: Look) -> Drawing:
    """Return a heat map, dark where numbers are large, with names, scale, gold cells and centres of windows."""
    values, power = _values(panel)
    along, down = _side(values.shape[1] << power), _side(values.shape[0] << power)
    if look.width is not None:
        shrunk = min(1.0, (look.width - 1.1) / along)
        along, down = shrunk * along, max(0.5, shrunk * down)
    names = 0.6 if look.width is None else 0.75

    def on(figure: FigureBase) -> None:
        axis: Axes = figure.subplots()
        shown = axis.imshow(values, aspect="auto", interpolation="nearest", **scale(values))
        axis.set_xlabel(plain_name(panel.along), fontsize=look.font + 1)
        axis.set_ylabel(plain_name(panel.down), fontsize=look.font + 1)
        axis.tick_params(labelsize=look.font, length=2)
        if not power:
            _name(axis, panel, along / max(1, values.shape[1]), down / max(1, values.shape[0]), look)
            _mark(axis, panel)
        figure.colorbar(shown, ax=axis, pad=0.01, fraction=0.03).ax.tick_params(labelsize=look.font)

    beside = max(2.0, 1.0 + inches_of(panel.rows, look))
    marks = ["framed: gold links"] * bool(panel.outlined) + ["○ centre of a window"] * bool(panel.centres)
    height, note = down + names + _names(panel.columns, look), "" if power else ", ".join(marks)
    return Drawing(look.width or along + beside, height, on, panel.title, note, look.title)


def scale(values: NDArray[Any]) -> dict[str, Any]:
    """Return colour map and bounds; zero is always white, also with negative values."""
    largest = float(np.abs(values).max()) if values.size else 0.0
    signed = bool(values.size) and float(values.min()) < 0
    largest = largest or 1.0
    return {"cmap": "PuOr" if signed else sequential(), "vmin": -largest if signed else 0.0, "vmax": largest}


def _rooted(bounds: dict[str, Any]) -> dict[str, Any]:
    """Return a square-root colour scale: most of many weights are small, and would be invisible on a linear one."""
    from matplotlib.colors import FuncNorm

    def there(values: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = np.copysign(np.sqrt(np.abs(values)), values)
        return found

    def back(roots: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = np.copysign(np.square(roots), roots)
        return found

    return {"cmap": bounds["cmap"], "norm": FuncNorm((there, back), vmin=bounds["vmin"], vmax=bounds["vmax"])}


def sequential() -> Colormap:
    """Return the colour map from white to dark blue with monotone lightness, as in the browser viewer."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("regard", _STOPS)


def birdseye(panel: HeadsPanel, look: Look) -> Drawing:
    """Return a small map for each layer, from top to bottom, and head."""
    layers, heads, rows, columns = panel.weights.shape
    wide = _THUMBNAIL if look.width is None else (look.width - 0.9) / heads
    high = wide * min(1.6, max(0.4, rows / max(1, columns)))

    def on(figure: FigureBase) -> None:
        axes = figure.subplots(layers, heads, squeeze=False)
        bounds = _rooted(scale(to_float32(panel.weights))) if columns > _LINEAR else scale(to_float32(panel.weights))
        for layer in range(layers):
            for head in range(heads):
                axis = axes[layer, head]
                shown = axis.imshow(
                    to_float32(panel.weights[layer, head]), aspect="auto", interpolation="nearest", **bounds
                )
                axis.set(xticks=[], yticks=[])
                if layer == 0:
                    axis.set_title(plain_name(_of(panel.heads, head)), fontsize=look.font, pad=2)
                if head == 0:
                    axis.set_ylabel(plain_name(_of(panel.layers, layer)), fontsize=look.font, rotation=0, ha="right")
        figure.colorbar(shown, ax=axes, pad=0.01, fraction=0.03).ax.tick_params(labelsize=look.font)
        figure.supylabel("layer", fontsize=look.font)
        figure.supxlabel("head", fontsize=look.font)

    width, height = look.width or max(2.9, heads * wide + 1.0), layers * (high + 0.06) + 0.75
    return Drawing(width, height, on, panel.title, points=look.title)


def _of(names: Sequence[str], number: int) -> str:
    return names[number] if names else str(number + 1)


def _values(panel: Panel) -> tuple[NDArray[np.float32], int]:
    """Return the values of a panel, pooled to drawable size, and the binary exponent of the pooling factor."""
    if not isinstance(panel, StreamedPanel):
        values, power = to_float32(panel.values), 0
        while max(values.shape, default=0) > _FINEST:
            values, power = pooled(values, 2), power + 1
        return values, power
    rows, columns = panel.source.shape
    power = max(0, max(rows, columns) - 1).bit_length() - _FINEST.bit_length() + 1
    power = max(0, power)
    # Blocks of about 4 million values, whose rows are a multiple of the pooling squares.
    step = max(1, (1 << 22) // max(1, columns) >> power) << power
    parts = (panel.source.read(first, min(rows, first + step)) for first in range(0, rows, step))
    return np.concatenate([pooled(part, 1 << power) for part in parts]), power


def _name(axis: Axes, panel: Panel, along: float, down: float, look: Look) -> None:
    """Label rows and columns; if cells are smaller than letters, only every second, third, ..."""
    room = look.font / 72 * 1.05
    if 0 < len(panel.rows) <= _NAMED:
        every = max(1, int(np.ceil(room / down)))
        axis.set_yticks(range(0, len(panel.rows), every), [name_of(name) for name in panel.rows[::every]])
    if 0 < len(panel.columns) <= _NAMED:
        every = max(1, int(np.ceil(room / along)))
        names = [name_of(name) for name in panel.columns[::every]]
        axis.set_xticks(range(0, len(panel.columns), every), names, rotation=90)


def _mark(axis: Axes, panel: Panel) -> None:
    """Frame the gold cells, with weights in percent as in Koehn & Knowles 2017; and mark the centres of windows."""
    from matplotlib.patches import Rectangle

    if panel.outlined and panel.values.numel() and max(panel.values.shape) <= _PERCENT:
        values = to_float32(panel.values)
        for row, column in zip(*np.nonzero(np.abs(values) >= 0.01), strict=True):
            shade = "white" if abs(values[row, column]) > 0.5 * np.abs(values).max() else "0.2"
            text = f"{100 * values[row, column]:.0f}"
            axis.text(column, row, text, ha="center", va="center", fontsize=5, color=shade)
    for row, column in panel.outlined:
        axis.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=_GOLD, linewidth=1.4))
    if panel.centres:
        axis.plot(
            panel.centres, range(len(panel.centres)), "o", mfc="white", mec=_GOLD, markersize=3.5, markeredgewidth=1.1
        )


def _names(names: Sequence[str], look: Look) -> float:
    """Return inches that names under a map take."""
    return inches_of(names, look) if len(names) <= _NAMED else 0.0


def _side(cells: int) -> float:
    return min(_MOST, max(_LEAST, _CELL * cells))
