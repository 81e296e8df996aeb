"""Panels as a file: a picture, a page of HTML, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.explain.panel import Panel
from regard.view.document import Document
from regard.view.drawing import PAPER, SCREEN, figure_of, write_figure
from regard.view.figures import drawing_of
from regard.view.store import STORED, store
from regard.view.style import Style
from regard.view.text import check_suffix
from regard.view.view import View


def draw(
    panels: Sequence[Panel],
    path: Path,
    *,
    suffix: str | None = None,
    style: Style | None = None,
    paper: bool = False,
    title: str = "",
) -> str | None:
    """Write the panels, one above the other, each with the scale of its numbers.

    Args:
        panels: what to draw.
        path: where; its suffix says how: .png, .svg, .pdf, .html, .npz, .json, .safetensors or .pharaoh.
        suffix: says how in its place, for a draft that has another name; None for that of the path.
        style: how, of panels that can be drawn in several ways; None for their usual one.
        paper: as wide as a column of a paper, 3.5 inches.
        title: of a page; "" for that of the first panel.

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
            view = View(tuple(panels), title, style)
            path.write_text(Document(view.name()).add(view).html(), encoding="utf-8")
            return None
        if suffix in STORED:
            store(panels, path, suffix)
            return None
        figure = figure_of([drawing_of(panel, PAPER if paper else SCREEN, style) for panel in panels])
        return write_figure(figure, path, suffix)
    except OSError as problem:
        raise ValueError(f"{path}: cannot be written ({problem.strerror})") from problem
