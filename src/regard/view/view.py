"""View: panels with a title, to be saved, shown in a notebook, or put into a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regard.explain.panel import Panel
from regard.view.style import Style

if TYPE_CHECKING:
    from rich.console import RenderableType


@dataclass(frozen=True)
class View:
    """Panels that belong together.

    Attributes:
        panels: panels of the view, stacked vertically.
        title: of the page; "" for that of the first panel.
        style: initial style of panels with several styles; None for the default.

    >>> import torch
    >>> view = View((Panel("weights", torch.eye(2), rows=("a", "b"), columns=("x", "y")),))
    >>> view.html()[:15]
    '<!doctype html>'
    """

    panels: Sequence[Panel]
    title: str = ""
    style: Style | None = None

    def save(self, path: str | Path, *, paper: bool = False) -> str | None:
        """Write the view; the suffix says how.

        Args:
            path: where; its suffix is .html, .png, .svg, .pdf, .npz, .safetensors, .json or .pharaoh.
            paper: use the column width of a paper, 3.5 inches, instead of the natural width.

        Returns:
            A warning about characters without an installed font; None if all are drawn.
        """
        from regard.view.panels import draw

        return draw(self.panels, Path(path), style=self.style, paper=paper, title=self.title)

    def html(self) -> str:
        """Return a page that needs nothing else."""
        from regard.view.document import Document

        return Document(self.name()).add(self).html()

    def words(self) -> View:
        """Return the view with subwords merged to words."""
        from regard.view.words import merged

        return replace(self, panels=tuple(map(merged, self.panels)))

    def styled(self, style: Style | None) -> View:
        """Return the view with another style drawn first; None for what it has."""
        return self if style is None else replace(self, style=style)

    def __rich__(self) -> RenderableType:
        """Return the view as a terminal shows it."""
        from regard.view.shades import shades

        return shades(self.panels)

    def name(self) -> str:
        """Return the title, or that of the first panel."""
        return self.title or next((panel.title for panel in self.panels), "")

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        from html import escape

        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" title="attention" style="width:100%;height:640px;border:0"></iframe>'
