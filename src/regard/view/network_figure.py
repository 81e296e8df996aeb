"""Matplotlib drawing of graph attention: nodes as circles, weights as lines."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from regard.explain.panel import GraphPanel
from regard.view.drawing import Drawing
from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_SIDE = 7.0  # inches
_THICKEST = 7.0  # points of the line for weight 1
_NODE, _ASKED = 260, 520  # areas of a node, in square points
_COLOURS = 20  # groups with distinct colours


def network(panel: GraphPanel) -> Drawing:
    """Return the drawing of a network.

    Nodes are coloured by group; line width shows the attention weight between two nodes.

    A self-loop is a ring around the node. The first node is the queried one: only its own attention is drawn, not that
    of other nodes to it.
    """
    note = "width of a line: the weight by which one end reads the other; of a ring: by which a node reads itself"
    return Drawing(_SIDE + 2.0, _SIDE + 0.6, partial(_draw, panel), panel.title, note)


def _draw(network: GraphPanel, figure: FigureBase) -> None:
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    axis: Axes = figure.subplots()
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
    halo = [withStroke(linewidth=2.0, foreground="white")]
    for name, (across, up) in zip(network.rows, places, strict=True):
        axis.annotate(plain_name(name), (across, up), ha="center", va="center", fontsize=7, zorder=3, path_effects=halo)
    for group in groups:
        axis.scatter([], [], s=60, color=palette(groups.index(group) % _COLOURS), label=plain_name(group))
    if groups:
        axis.legend(title="label", fontsize=7, title_fontsize=7, loc="upper right", frameon=False)
    axis.set_aspect("equal")
    axis.margins(0.12)
    axis.axis("off")
