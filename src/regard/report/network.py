"""SVG drawings of graph attention."""

from __future__ import annotations

from regard.explain.panel import GraphPanel
from regard.report.curves import COLOURS
from regard.report.figure import label, svg
from regard.report.markup import Markup, element, join_markup
from regard.report.scale import tick_label
from regard.view.text import isolated

_SIDE, _EDGE = 420.0, 36.0
_THICKEST = 8.0
_NODE, _ASKED = 11.0, 16.0  # radii of nodes, and of the first, which was asked for


def network_map(network: GraphPanel) -> Markup:
    """Return an SVG of nodes, coloured by group, with line widths proportional to attention weights.

    The first node is the queried one: only its own attention is drawn, not that of other nodes to it.
    """
    places = network.places.tolist()
    lows = [min(place[axis] for place in places) for axis in (0, 1)]
    spans = [max(place[axis] for place in places) - lows[axis] or 1.0 for axis in (0, 1)]
    room = _SIDE - 2 * _EDGE
    at = [(_EDGE + room * (x - lows[0]) / spans[0], _EDGE + room * (1 - (y - lows[1]) / spans[1])) for x, y in places]
    groups = sorted(set(network.groups) - {""})
    return svg(
        _SIDE,
        _SIDE + 20 * -(-len(groups) // 4),
        network.title or "Network",
        join_markup(_edges(network, at)),
        join_markup(_node(network, groups, number, *place) for number, place in enumerate(at)),
        join_markup(_key(group, place) for place, group in enumerate(groups)),
    )


def _edges(network: GraphPanel, at: list[tuple[float, float]]) -> list[Markup]:
    weights = network.values.detach().float().cpu()
    return [
        element(
            "line",
            element(
                "title",
                f"{network.rows[reader]} reads {network.rows[read]}: {tick_label(float(weights[reader, read]))}",
            ),
            x1=f"{at[reader][0]:.1f}",
            y1=f"{at[reader][1]:.1f}",
            x2=f"{at[read][0]:.1f}",
            y2=f"{at[read][1]:.1f}",
            stroke_width=f"{max(0.6, _THICKEST * float(weights[reader, read])):.2f}",
            class_="edge",
        )
        for reader, read in (weights > 0).nonzero().tolist()
        if reader != read and read != 0
    ]


def _node(network: GraphPanel, groups: list[str], number: int, x: float, y: float) -> Markup:
    group, name = network.groups[number], network.rows[number]
    kind = "node unknown" if group == "" else f"node c{groups.index(group) % COLOURS}"
    own = float(network.values[number, number])
    said = element("title", f"{name}{f', {group}' if group else ''}; reads itself: {tick_label(own)}")
    radius = _ASKED if number == 0 else _NODE
    dot = element("circle", said, cx=f"{x:.1f}", cy=f"{y:.1f}", r=f"{radius:g}", class_=kind)
    return join_markup(dot, label(isolated(name), x, y + radius + 10, kind="in", anchor="middle"))


def _key(group: str, place: int) -> Markup:
    row, column = divmod(place, 4)
    x, y = 20 + column * 100.0, _SIDE + 20 * row + 4
    dot = element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="6", class_=f"node c{place % COLOURS}")
    return join_markup(dot, label(isolated(group), x + 10, y + 4))
