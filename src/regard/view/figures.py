"""Dispatch from panel and style to a drawing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.explain.panel import FramesPanel, GlimpsePanel, GraphPanel, HeadsPanel, Panel, RegionsPanel, TextPanel
from regard.view.drawing import Drawing, Look
from regard.view.line_figures import curves, lines, neurons
from regard.view.map_figures import birdseye, heatmap
from regard.view.marked_text import marked_text_drawing
from regard.view.network_figure import network
from regard.view.overlay import alignment, glimpses, regions
from regard.view.payload import styles_of
from regard.view.style import Style
from regard.view.tree_figure import tree


def drawing_of(panel: Panel, look: Look, style: Style | None = None) -> Drawing:
    """Return the drawing of a panel.

    Args:
        panel: the panel.
        look: sizes.
        style: style, if the panel supports it; None for the default in files, which shows many heads as thumbnails.
    """
    styles = styles_of(panel)
    if style is None or style not in styles:
        style = "birdseye" if isinstance(panel, HeadsPanel) and panel.weights[..., 0, 0].numel() > 1 else styles[0]
    if style == "picture":
        return _picture(panel)
    if style == "text" and not isinstance(panel, TextPanel):
        panel = _as_text(panel)
    return _DRAWN[style](panel, look)


_DRAWN: dict[Style, Callable[[Any, Look], Drawing]] = {
    "heatmap": heatmap,
    "lines": lines,
    "birdseye": birdseye,
    "neurons": neurons,
    "curves": curves,
    "tree": tree,
    "text": marked_text_drawing,
}


def _as_text(panel: Panel) -> TextPanel:
    """Return the text of the columns, once for each row, with the row's weights on its words."""
    largest = panel.values.abs().amax(1).tolist()
    words = tuple((name, "│", *panel.columns) for name in (panel.rows or map(str, range(1, len(panel.values) + 1))))
    values = panel.values.new_zeros(len(words), len(panel.columns) + 2)
    values[:, 2:] = panel.values.abs()
    return TextPanel(panel.title, values, words=words, line_weights=tuple(largest))


def _picture(panel: Panel) -> Drawing:
    if isinstance(panel, RegionsPanel):
        return regions(panel.picture, panel.values, panel.rows, panel.grids, title=panel.title)
    if isinstance(panel, GlimpsePanel):
        return glimpses(
            panel.picture,
            panel.values,
            size=panel.size,
            scales=panel.scales,
            factor=panel.factor,
            title=panel.title,
        )
    if isinstance(panel, FramesPanel):
        return alignment(panel.spectrogram, panel.values, panel.rows, hop=panel.hop, title=panel.title)
    assert isinstance(panel, GraphPanel)
    return network(panel)
