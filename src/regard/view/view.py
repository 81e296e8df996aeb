"""View: panels with a title, to be saved, shown in a notebook, or put into a document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


from regard.explain.panel import Panel
from regard.view.style import Style




@dataclass(frozen=True)
class View:
    """Panels that belong together.

    Attributes:
        panels: what is drawn, one below the other.
        title: of the page; "" for that of the first panel.
        style: what is drawn first of a panel that can be drawn in several ways; None for its usual one.

    >>> import torch
    >>> view = View((Panel("weights", torch.eye(2), rows=("a", "b"), columns=("x", "y")),))
    >>> view.html()[:15]
    '<!doctype html>'
    """

    panels: Sequence[Panel]
    title: str = ""
    style: Style | None = None

    def save(self, path: str | Path) -> str | None:
        """Write the view; the suffix says how.

        Args:
            path: where; its suffix is .html, .png, .svg, .pdf, .npz or .json.

        Returns:
            A sentence about letters that the fonts of this machine do not have; None if all are drawn.
        """
        from regard.view.save import save

        return save(self, Path(path))

    def html(self) -> str:
        """Return a page that needs nothing else."""
        from regard.view.document import Document

        return Document(self.name()).add(self).html()

    def name(self) -> str:
        """Return the title, or that of the first panel."""
        return self.title or next((panel.title for panel in self.panels), "")

    def _repr_html_(self) -> str:
        """Return the page in a frame, as notebooks show it."""
        from html import escape

        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" title="attention" style="width:100%;height:640px;border:0"></iframe>'
