"""Output of panels to a file: figure, HTML page, or data."""

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
    """Write panels to a file, stacked vertically, each with its colour scale.

    Args:
        panels: panels to write.
        path: output file; its suffix is .png, .svg, .pdf, .html, .npz, .json, .safetensors or .pharaoh.
        suffix: overrides the suffix, for a temporary file with another name; None for that of the path.
        style: style of panels with several styles; None for the default.
        paper: column width of a paper, 3.5 inches.
        title: page title; "" for that of the first panel.

    Returns:
        A warning about characters without an installed font; None if all are drawn.

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
