"""Parameters of a model as areas: trained ones coloured, frozen ones grey and hatched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from regard.explain.panel import ParametersPanel
from regard.view.drawing import Drawing, Look
from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_WIDTH, _HEIGHT = 8.0, 4.5
_TRAINED, _FROZEN = "#a9d3ee", "#e2e2e2"


class Area(NamedTuple):
    """A rectangle for a part of the model."""

    part: int
    x: float
    y: float
    width: float
    height: float


def tree(panel: ParametersPanel, look: Look) -> Drawing:
    """Return an area for each part, as large as its number of parameters."""
    width = look.width or _WIDTH
    sizes = panel.values.flatten().tolist()

    def on(figure: FigureBase) -> None:
        axis: Axes = figure.subplots()
        for area in areas(panel.rows, sizes, Area(-1, 0.0, 0.0, width, _HEIGHT)):
            _draw(axis, panel, area, look)
        axis.set(xlim=(0, width), ylim=(_HEIGHT, 0))
        axis.axis("off")

    note = "area: number of parameters; blue: trained, hatched grey: frozen"
    return Drawing(width, _HEIGHT + 0.4, on, panel.title, note, look.title)


def _draw(axis: Axes, panel: ParametersPanel, area: Area, look: Look) -> None:
    from matplotlib.patches import Rectangle

    share = panel.trainable[area.part]
    colour, hatch = (_TRAINED if share else _FROZEN), ("" if share == 1 else "///")
    axis.add_patch(
        Rectangle(
            (area.x, area.y), area.width, area.height, facecolor=colour, edgecolor="white", hatch=hatch, linewidth=1
        )
    )
    letters = int(area.width / (0.6 * look.font / 72)) - 1
    if letters < 3 or area.height < 1.5 * look.font / 72:
        return
    name, size = panel.rows[area.part], f"{int(panel.values[area.part]):,}"
    shown = name if len(name) <= letters else f"…{name[1 - letters :]}"
    if area.height > 3 * look.font / 72 and len(size) <= letters:
        shown = f"{shown}\n{size}"
    axis.text(area.x + 0.04, area.y + 0.04, plain_name(shown), fontsize=look.font, va="top")


def areas(names: Sequence[str], sizes: Sequence[float], room: Area) -> Iterator[Area]:
    """Yield a rectangle for each part with a size; parts of one part lie together.

    >>> [area[:3] for area in areas(["a.x", "b", "a.y"], [1, 2, 1], Area(-1, 0, 0, 4, 2))]
    [(0, 0, 0), (2, 1.0, 0), (1, 2.0, 0)]
    """
    parts: dict[str, list[int]] = {}
    for part, name in enumerate(names):
        if sizes[part]:
            parts.setdefault(name.partition(".")[0], []).append(part)
    ordered = sorted(parts.values(), key=lambda group: -sum(sizes[part] for part in group))
    yield from _halved(ordered, names, sizes, room)


def _halved(groups: list[list[int]], names: Sequence[str], sizes: Sequence[float], room: Area) -> Iterator[Area]:
    """Divide an area between the first groups and the rest, across its longer side."""
    if len(groups) <= 1:
        for group in groups:
            if len(group) == 1:
                yield room._replace(part=group[0])
                continue
            below = [names[part].partition(".")[2] for part in group]
            for area in areas(below, [sizes[part] for part in group], room):
                yield area._replace(part=group[area.part])
        return
    weights = [sum(sizes[part] for part in group) for group in groups]
    count, first, total = 1, weights[0], sum(weights)
    while count < len(groups) - 1 and first + weights[count] <= total / 2:
        first += weights[count]
        count += 1
    share = first / total
    if room.width >= room.height:
        one = room._replace(width=room.width * share)
        rest = room._replace(x=room.x + one.width, width=room.width - one.width)
    else:
        one = room._replace(height=room.height * share)
        rest = room._replace(y=room.y + one.height, height=room.height - one.height)
    yield from _halved(groups[:count], names, sizes, one)
    yield from _halved(groups[count:], names, sizes, rest)
