"""Matplotlib drawing of a text with weights on its words and lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from regard.explain.panel import TextPanel
from regard.view.drawing import Drawing, Look
from regard.view.text import plain_name, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

_WIDTH = 110  # characters of a row of the picture; longer lines are wrapped
_NARROWEST = 30  # characters of a row at least, for the title
_HEAD = 6  # characters that the weight of a line takes
_FONT = 7.0  # points
_CHARACTER, _ROW = 0.602 * _FONT / 72, 0.2  # inches of a character of the monospaced font, and of a row


class Placed(NamedTuple):
    """A word and its position in the drawing, in characters from the left and rows from the top."""

    word: str
    value: float
    column: int
    row: int


def place_words(words: Sequence[Sequence[str]], values: Sequence[Sequence[float]]) -> Iterator[list[Placed]]:
    """Yield the words of each line with their positions.

    >>> [(one.column, one.row) for line in place_words([["a", "gem"], ["so"]], [[0.0, 1.0], [1.0]]) for one in line]
    [(6, 0), (8, 0), (6, 1)]
    """
    row = 0
    for line, weights in zip(words, values, strict=True):
        column, found = _HEAD, []
        for word, value in zip(line, weights, strict=False):  # values are padded behind the last word
            wide = cell_len(word)
            if column + wide > _WIDTH and column > _HEAD:
                column, row = _HEAD, row + 1
            found.append(Placed(word, value, column, row))
            column += wide + 1
        yield found
        row += 1


def marked_text_drawing(panel: TextPanel, look: Look) -> Drawing:
    """Return a drawing of words on coloured background, each line preceded by its weight."""
    columns, rows = _size(place_words(panel.words, panel.values.tolist()))
    width, height = columns * _CHARACTER, rows * _ROW
    if look.width is not None:
        width, height = look.width, height * look.width / width

    def on(figure: FigureBase) -> None:
        draw_marked_text(figure.subplots(), panel, font=_FONT * min(1.0, width / (columns * _CHARACTER)))

    note = "blue: weight of a word, red: of a line; dark for large"
    return Drawing(width if look.width else width + 2.0, height + 0.6, on, panel.title, note, look.title)


def _size(lines: Iterable[list[Placed]]) -> tuple[int, int]:
    """Return columns and rows that a text takes."""
    words = [one for line in lines for one in line]
    columns = max((one.column + cell_len(one.word) for one in words), default=0)
    return max(columns, _NARROWEST), max((one.row for one in words), default=0) + 1


def draw_marked_text(axis: Axes, panel: TextPanel, *, font: float = _FONT) -> None:
    """Draw words on blue, darker for larger weights, and the weight of each line on red in front of it."""
    from matplotlib import colormaps

    values = panel.values.tolist()
    largest = max((value for row in values for value in row), default=0.0) or 1.0
    top = max(panel.line_weights, default=0.0) or 1.0
    lines = list(place_words(panel.words, values))
    for line, weight in zip(lines, panel.line_weights, strict=True):
        if line:
            _mark(axis, f"{weight:.2f}", 0, line[0].row, colour=colormaps["Reds"](0.7 * weight / top), font=font)
        for one in line:
            shade = colormaps["Blues"](0.7 * one.value / largest)
            _mark(axis, visible(one.word), one.column, one.row, colour=shade, font=font)
    columns, rows = _size(lines)
    axis.set_xlim(0, columns)
    axis.set_ylim(rows, 0)
    axis.axis("off")


def _mark(axis: Axes, text: str, column: int, row: int, *, colour: object, font: float) -> None:
    from matplotlib.patches import Rectangle

    wide = cell_len(text)
    axis.add_patch(Rectangle((column - 0.3, row + 0.05), wide + 0.6, 0.9, facecolor=colour, edgecolor="none"))
    axis.text(column, row + 0.5, plain_name(text), fontsize=font, family="monospace", va="center")
