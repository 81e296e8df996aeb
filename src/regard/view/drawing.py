"""Matplotlib drawings with fixed sizes, stacked vertically and saved reproducibly."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from regard.view.text import plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

COLUMN = 3.5
"""Column width of a paper, in inches."""
_LEFT, _NOTE = 0.06, 6.5  # inches left of a title; points of a note
_LINES = 5  # of a title


@dataclass(frozen=True)
class Look:
    """Sizes of a picture.

    Attributes:
        width: width of the whole figure in inches; None for its natural width.
        font: font size of names in points.
    """

    width: float | None = None
    font: float = 7.0

    @property
    def title(self) -> float:
        """Font size of titles in points."""
        return self.font + (2.0 if self.width is None else 0.5)


SCREEN, PAPER = Look(), Look(COLUMN, 6.5)


@dataclass(frozen=True)
class Drawing:
    """Something to draw.

    Attributes:
        width, height: size in inches, including one title line.
        on: draws on a figure or subfigure.
        title: title above the drawing, wrapped as needed.
        note: legend of colours and marks below the drawing.
        points: font size of the title.
    """

    width: float
    height: float
    on: Callable[[FigureBase], None]
    title: str = ""
    note: str = ""
    points: float = 9.0


def figure_of(drawings: Sequence[Drawing]) -> Figure:
    """Return a figure of vertically stacked drawings; avoids pyplot's global state, so it is thread-safe."""
    from matplotlib.figure import Figure

    width = max(one.width for one in drawings)
    titles = [wrapped(one.title, width, one.points) for one in drawings]
    heights = [_height(one, title) for one, title in zip(drawings, titles, strict=True)]
    figure = Figure(figsize=(width, sum(heights)))
    figure.set_layout_engine("constrained", w_pad=0.06, h_pad=0.06)
    many = figure.subfigures(len(drawings), 1, squeeze=False, height_ratios=heights)[:, 0] if drawings[1:] else [figure]
    for part, drawing, title in zip(many, drawings, titles, strict=True):
        drawing.on(part)
        if title:
            part.suptitle(title, x=_LEFT / width, ha="left", fontsize=drawing.points)
        if drawing.note:
            part.supxlabel(plain_name(drawing.note), x=_LEFT / width, ha="left", fontsize=_NOTE, color="0.35")
    return figure


def _height(drawing: Drawing, title: str) -> float:
    """Return the height of a drawing with all lines of its title, and its note."""
    more = title.count("\n") * 1.3 * drawing.points
    return drawing.height + (more + (2 * _NOTE if drawing.note else 0.0)) / 72


def wrapped(title: str, width: float, points: float) -> str:
    """Wrap a title to a width in inches, into at most five lines.

    >>> wrapped("the black cat sat", 1.0, 9.0)
    'the black\\ncat sat'
    """
    letters = max(8, int(72 * width / (0.58 * points)) - 2)
    letters //= 2 if cell_len(title) > 1.5 * len(title) else 1  # Chinese letters are as wide as two
    lines = [line for part in title.splitlines() for line in textwrap.wrap(part, letters)]
    shown = lines if len(lines) <= _LINES else [*lines[: _LINES - 1], f"{lines[_LINES - 1][: letters - 1]}…"]
    return "\n".join(map(title_of, shown))


def write_figure(figure: Figure, path: Path, suffix: str) -> str | None:
    """Write a figure; equal figures give identical files.

    Args:
        figure: the figure.
        path: output file.
        suffix: .png, .svg or .pdf.

    Returns:
        A warning about characters without an installed font; None if all are drawn.
    """
    from matplotlib import rc_context

    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    settings: dict[Any, Any] = {"svg.hashsalt": "regard", "svg.fonttype": "none", "pdf.fonttype": 42}  # text stays text
    with warnings.catch_warnings(record=True) as caught, rc_context(settings):
        warnings.simplefilter("always")
        figure.savefig(path, format=suffix[1:], dpi=150, metadata=undated)
    if suffix == ".svg":
        path.write_text(_with_numbered_ids(path.read_text(encoding="utf-8")), encoding="utf-8")
    if suffix != ".svg" and any("missing from" in str(one.message) for one in caught):
        return f"some letters in {path} are boxes, for no font of this machine has them; a page, .html, shows them"
    return None


def _with_numbered_ids(svg: str) -> str:
    """Number the hashed ids of an SVG file in their order, equal clip paths alike.

    Matplotlib hashes sizes at full precision, whose last digits depend on the order in which a layout is solved. Equal
    drawings would differ in their ids.

    >>> clips = [f'<clipPath id="pabf896efd{n}"><rect x="1"/></clipPath>' for n in (0, 1)]
    >>> _with_numbered_ids('<path clip-path="url(#pabf896efd1)"/>' + "".join(clips))
    '<path clip-path="url(#p1)"/><clipPath id="p1"><rect x="1"/></clipPath>'
    """
    first: dict[str, str] = {}  # content of a clip path -> its first id
    same = {name: first.setdefault(content, name) for name, content in _CLIP_PATH.findall(svg)}
    svg = _CLIP_PATH.sub(lambda match: match[0] if same[match[1]] == match[1] else "", svg)
    numbers: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        name = same.get(match[2], match[2])
        return match[1] + numbers.setdefault(name, f"{name[:-10]}{len(numbers) + 1}")

    return re.sub(r'(\bid="|url\(#|href="#)([A-Za-z]+[0-9a-f]{10})\b', numbered, svg)


_CLIP_PATH = re.compile(r'<clipPath id="(\w+)">\s*(.*?)\s*</clipPath>\s*', re.DOTALL)
_LETTERS = 32


def name_of(text: str) -> str:
    r"""Escape a row or column name against matplotlib's math text, and shorten a long one with "…".

    >>> name_of("$x$"), len(name_of(40 * "y")), name_of(" ")
    ('\\$x\\$', 32, '␣')
    """
    shown = "␣" if text and text.isspace() else text
    return plain_name(shown if len(shown) <= _LETTERS else f"{shown[: _LETTERS - 1]}…")


def inches_of(names: Iterable[str], look: Look) -> float:
    """Return the width of the longest of some names, about."""
    return max((min(_LETTERS, len(name)) for name in names), default=1) * 0.62 * look.font / 72


def title_of(text: str) -> str:
    r"""Escape a title against matplotlib's math text, and force left-to-right direction.

    >>> title_of("\u05d0 \u2192 $x"), title_of("a")
    ('\u200eא → \\$x', 'a')
    """
    shown = plain_name(text)
    return shown if shown.isascii() else f"\u200e{shown}"
