"""Drawings: what matplotlib draws, with its size, one above the other, and written the same each time."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

COLUMN = 3.5
"""Inches of a column of a paper."""


@dataclass(frozen=True)
class Look:
    """Sizes of a picture.

    Attributes:
        width: inches of the whole picture; None for as much as it needs.
        font: points of names.
    """

    width: float | None = None
    font: float = 7.0

    @property
    def title(self) -> float:
        """Points of titles."""
        return self.font + (2.0 if self.width is None else 0.5)


SCREEN, PAPER = Look(), Look(COLUMN, 6.5)


@dataclass(frozen=True)
class Drawing:
    """Something to draw.

    Attributes:
        width, height: inches.
        on: draws it on a figure, or on a part of one.
    """

    width: float
    height: float
    on: Callable[[FigureBase], None]


def figure_of(drawings: Sequence[Drawing]) -> Figure:
    """Return a figure of drawings one above the other, without pyplot: no window, no global state, fit for threads."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(one.width for one in drawings), sum(one.height for one in drawings)))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    if len(drawings) == 1:
        drawings[0].on(figure)
        return figure
    parts = figure.subfigures(len(drawings), 1, squeeze=False, height_ratios=[one.height for one in drawings])
    for part, drawing in zip(parts[:, 0], drawings, strict=True):
        drawing.on(part)
    return figure


def write_figure(figure: Figure, path: Path, suffix: str) -> str | None:
    """Write a figure; the same figure is the same file.

    Args:
        figure: what is written.
        path: where.
        suffix: .png, .svg or .pdf.

    Returns:
        A sentence about letters that no font of this machine has; None if all are drawn.
    """
    from matplotlib import rc_context

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    settings: dict[Any, Any] = {"svg.hashsalt": "regard", "svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text
    with warnings.catch_warnings(record=True) as caught, rc_context(settings):
        warnings.simplefilter("always")
        figure.savefig(path, format=suffix[1:], dpi=150, metadata=undated)
    if suffix != ".svg" and any("missing from" in str(one.message) for one in caught):
        return f"some letters in {path} are boxes, for no font of this machine has them; a page, .html, shows them"
    return None


_LETTERS = 32


def name_of(text: str) -> str:
    r"""Return a name of a row or column in which matplotlib finds no formula; a long one ends in "…".

    >>> name_of("$x$"), len(name_of(40 * "y")), name_of(" ")
    ('\\$x\\$', 32, '␣')
    """
    shown = "␣" if text and text.isspace() else text
    return plain_name(shown if len(shown) <= _LETTERS else f"{shown[: _LETTERS - 1]}…")


def inches_of(names: Iterable[str], look: Look) -> float:
    """Return the width of the longest of some names, about."""
    return max((min(_LETTERS, len(name)) for name in names), default=1) * 0.62 * look.font / 72


def title_of(text: str) -> str:
    r"""Return a title in which matplotlib finds no formula, and which runs from left to right whatever it begins with.

    >>> title_of("\u05d0 \u2192 $x"), title_of("a")
    ('\u200eא → \\$x', 'a')
    """
    shown = plain_name(text)
    return shown if shown.isascii() else f"\u200e{shown}"
