"""Panels as a picture: PNG, SVG, PDF or a page of HTML."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard.explain.panel import MarkedText, Network, Panel
from regard.view.marked_text import draw_marked_text, marked_text_sides
from regard.view.page import page
from regard.view.text import check_suffix, plain_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

_CELL, _LEAST, _MOST = 0.2, 1.0, 12.0  # inches of a cell; of a panel's sides, at least and at most
_FRAME = "tab:orange"  # around outlined cells
_NETWORK = 7.0  # inches of a network's sides
_NAMED = 64  # rows or columns that are named one by one; of more, only some are numbered
_LETTER, _SHORT = 0.055, 16  # inches of a letter of a name; letters that every panel has room for


def draw(panels: Sequence[Panel], path: Path, *, suffix: str | None = None) -> str | None:
    """Write the panels, one above the other, each with the scale of its numbers.

    Args:
        panels: what to draw.
        path: where; its suffix says how: .png, .svg, .pdf or .html.
        suffix: says how in its place, for a draft that has another name; None for that of the path.

    Returns:
        A sentence about letters that the fonts of this machine do not have; None if all are drawn.

    Raises:
        ValueError: another suffix, or a place that cannot be written to.

    >>> import tempfile, torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw([Panel("weights", torch.eye(3), rows=("a", "b", "c"))], Path(folder) / "a.svg")
    ...     (Path(folder) / "a.svg").read_text()[:5]
    '<?xml'
    """
    suffix = path.suffix if suffix is None else suffix
    check_suffix(path, suffix)
    try:
        if suffix == ".html":
            path.write_text(page(panels), encoding="utf-8")
            return None
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            _plot(panels, path, suffix)
    except OSError as problem:
        raise ValueError(f"{path}: cannot be written ({problem.strerror})") from problem
    if any("missing from" in str(one.message) for one in said):
        return f"some letters in {path} are boxes, for no font of this machine has them; a page, .html, shows them"
    return None


def _plot(panels: Sequence[Panel], path: Path, suffix: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    heights = [_sides(panel)[1] for panel in panels]
    width = max(_sides(panel)[0] for panel in panels)
    figure, axes = pyplot.subplots(
        len(panels),
        1,
        squeeze=False,
        figsize=(width + 2.0, sum(heights) + 0.6 * len(panels)),
        height_ratios=heights,
        layout="constrained",
    )
    try:
        for axis, panel in zip(axes[:, 0], panels, strict=True):
            _draw_any(axis, panel)
        figure.savefig(path, format=suffix[1:], dpi=120)
    finally:
        pyplot.close(figure)


def _draw_any(axis: Axes, panel: Panel) -> None:
    if isinstance(panel, Network):
        draw_network(axis, panel)
    elif isinstance(panel, MarkedText):
        draw_marked_text(axis, panel)
    else:
        _draw(axis, panel)


def _draw(axis: Axes, panel: Panel) -> None:
    values = panel.values.detach().float().cpu().numpy()
    largest = float(abs(values).max()) or 1.0
    signed = values.min() < 0
    shown = axis.imshow(
        values,
        aspect="auto",
        interpolation="nearest",
        cmap="RdBu" if signed else "Blues",
        vmin=-largest if signed else 0.0,
        vmax=largest,
    )
    for row, column in panel.outlined:
        axis.add_patch(_frame(row, column))
    axis.set_title(plain_name(panel.title), fontsize=9, loc="left")
    axis.set_xlabel(panel.along, fontsize=8)
    axis.set_ylabel(panel.down, fontsize=8)
    axis.tick_params(labelsize=7, length=2)
    if 0 < len(panel.rows) <= _NAMED:
        axis.set_yticks(range(len(panel.rows)), [plain_name(name) for name in panel.rows])
    if 0 < len(panel.columns) <= _NAMED:
        axis.set_xticks(range(len(panel.columns)), [plain_name(name) for name in panel.columns], rotation=90)
    figure = axis.figure
    figure.colorbar(shown, ax=axis, pad=0.01, fraction=0.03).ax.tick_params(labelsize=7)


def _frame(row: int, column: int) -> Rectangle:
    """Return a frame around a cell."""
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=_FRAME, linewidth=1.2)


def _sides(panel: Panel) -> tuple[float, float]:
    """Inches along and down."""
    if isinstance(panel, Network):
        return _NETWORK, _NETWORK
    if isinstance(panel, MarkedText):
        return marked_text_sides(panel)
    along, down = _side(panel.values.shape[1]), _side(len(panel.values))
    return along + _room_for(panel.rows), down + _room_for(panel.columns)


def _room_for(names: tuple[str, ...]) -> float:
    """Inches that long names take beside the cells, beyond what every panel has."""
    longest = max(map(len, names), default=0) if len(names) <= _NAMED else 0
    return _LETTER * max(longest - _SHORT, 0)


def _side(cells: int) -> float:
    return min(_MOST, max(_LEAST, _CELL * cells))


_THICKEST = 7.0  # points of the line for weight 1
_NODE, _ASKED = 260, 520  # areas of a node, in square points
_COLOURS = 20  # groups that are told apart


def draw_network(axis: Axes, network: Network) -> None:
    """Nodes at their places, coloured by group; lines as thick as the weight by which one end reads the other.

    A loop, a node that reads itself, is a ring around it. Who reads the first node, the one that was asked for, is not
    drawn: its lines are what it reads.
    """
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    weights = network.values.detach().float().cpu()
    places = network.places.tolist()
    lines, widths = [], []
    for reader, read in (weights > 0).nonzero().tolist():
        if reader != read and read != 0:
            lines.append([places[reader], places[read]])
            widths.append(_THICKEST * float(weights[reader, read]))
    axis.add_collection(LineCollection(lines, linewidths=widths, colors="0.45", zorder=1, capstyle="round"))
    groups = sorted(set(network.groups) - {""})
    palette = colormaps["tab10" if len(groups) <= 10 else "tab20"]
    colours = ["white" if group == "" else palette(groups.index(group) % _COLOURS) for group in network.groups]
    x, y = zip(*places, strict=True)
    sizes = [_ASKED] + [_NODE] * (len(places) - 1)
    rings = [0.6 + _THICKEST * float(weight) for weight in weights.diagonal()]
    axis.scatter(x, y, s=sizes, c=colours, edgecolors="0.3", linewidths=rings, zorder=2)
    for name, (across, up) in zip(network.rows, places, strict=True):
        axis.annotate(plain_name(name), (across, up), ha="center", va="center", fontsize=7, zorder=3)
    for group in groups:
        axis.scatter([], [], s=60, color=palette(groups.index(group) % _COLOURS), label=plain_name(group))
    if groups:
        axis.legend(title="label", fontsize=7, title_fontsize=7, loc="upper right", frameon=False)
    axis.set_title(plain_name(network.title), fontsize=9, loc="left")
    axis.set_aspect("equal")
    axis.margins(0.12)
    axis.axis("off")
