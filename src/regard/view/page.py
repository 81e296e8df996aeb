"""Panels as a page of HTML that needs nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from html import escape

from regard.explain.panel import MarkedText, Panel
from regard.view.text import visible

_STYLE = """
body {font: 15px/1.9 sans-serif; margin: 2em; color: #222; background: #fff}
h2 {font-size: 16px; margin: 1.5em 0 .5em}
th {text-align: right; padding-right: .8em; font-weight: normal; color: #777; white-space: nowrap; vertical-align: top}
td {padding: 0}
table.cells td {width: 12px; height: 12px}
.framed {outline: 2px solid #ff7f0e}
mark {padding: .15em .25em; border-radius: .2em; color: inherit}
"""
_LARGE, _SMALL = (31, 119, 180), (214, 39, 40)  # blue for numbers above zero, red for those below
_LINE = (214, 39, 40)  # red for the weight of a whole line


def page(panels: Sequence[Panel]) -> str:
    """The panels one below the other. Where columns are words, each row is the text itself with its words marked, the
    stronger the larger their number; pointing at one shows it. Other columns are cells.
    Before each line of a marked text stands its weight.

    >>> import torch
    >>> told = page([Panel("a gem", torch.tensor([[0.0, 1.0]]), rows=("hop 1",), columns=("a", "<gem>"))])
    >>> print(told.split("<tr>")[1].split("</tr>")[0])
    <th>hop 1</th><td><mark title="0" style="background: rgba(31, 119, 180, 0.00)">a</mark> <mark title="1" ...
    """
    shown = "\n".join(_panel(panel) for panel in panels)
    head = f'<head><meta charset="utf-8"><style>{_STYLE}</style></head>'
    return f"<!doctype html>\n<html>{head}\n<body>\n{shown}</body></html>\n"


def _panel(panel: Panel) -> str:
    values: list[list[float]] = panel.values.detach().float().cpu().tolist()
    largest = max((abs(value) for row in values for value in row), default=0.0) or 1.0
    names = panel.rows or tuple(str(number) for number in range(len(values)))
    kind = "words" if panel.columns or isinstance(panel, MarkedText) else "cells"
    lines = [f"<h2>{_shown(panel.title)}</h2>", f'<table class="{kind}">']
    if isinstance(panel, MarkedText):
        return "\n".join([*lines, *_marked_lines(panel, values, largest), "</table>\n"])
    for number, (name, row) in enumerate(zip(names, values, strict=True)):
        framed = frozenset(column for place, column in panel.outlined if place == number)
        words = _words(row, panel.columns, largest, framed) if panel.columns else ""
        cells = words or "".join(_cells(row, largest, framed))
        lines.append(f"<tr><th>{_shown(name)}</th>{cells}</tr>")
    return "\n".join([*lines, "</table>\n"])


def _words(row: Sequence[float], words: Sequence[str], largest: float, framed: Collection[int] = ()) -> str:
    marked = (
        f"<mark {_frame(column, framed)}{_colour(value, largest)}>{_shown(word)}</mark>"
        for column, (value, word) in enumerate(zip(row, words, strict=True))
    )
    return f"<td>{' '.join(marked)}</td>"


def _marked_lines(panel: MarkedText, values: Sequence[Sequence[float]], largest: float) -> Iterator[str]:
    """A row per line: its weight, its words."""
    top = max(panel.line_weights, default=0.0) or 1.0
    for weight, words, row in zip(panel.line_weights, panel.words, values, strict=True):
        head = f"<th><mark {_colour(weight, top, _LINE)}>{weight:.2f}</mark></th>"
        yield f"<tr>{head}{_words(row[: len(words)], words, largest)}</tr>"


def _shown(text: str) -> str:
    """A text of the page: no markup, and no control characters."""
    return escape(visible(text))


def _cells(row: Sequence[float], largest: float, framed: Collection[int] = ()) -> Iterator[str]:
    return (f"<td {_frame(column, framed)}{_colour(value, largest)}></td>" for column, value in enumerate(row))


def _frame(column: int, framed: Collection[int]) -> str:
    """Return the attribute of an outlined cell."""
    return 'class="framed" ' if column in framed else ""


def _colour(value: float, largest: float, colour: tuple[int, int, int] = _LARGE) -> str:
    red, green, blue = colour if value >= 0 else _SMALL
    return f'title="{value:.3g}" style="background: rgba({red}, {green}, {blue}, {abs(value) / largest:.2f})"'
