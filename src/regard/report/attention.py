"""Attention maps of a few examples, as HTML."""

from __future__ import annotations

import re
import tempfile
from base64 import b64encode
from collections.abc import Collection, Sequence
from pathlib import Path

from torch import nn

from regard.decode.search import Search
from regard.explain.panel import FramesPanel, GlimpsePanel, GraphPanel, HeadsPanel, Panel, RegionsPanel, TextPanel
from regard.report.examples import ExampleRow
from regard.report.figure import figure
from regard.report.heat_map import crop_note, heat_map
from regard.report.markup import Markup, element, join_markup, text
from regard.report.network import network_map
from regard.report.page import paragraph
from regard.report.table import numbers_behind
from regard.tasks.task import Task
from regard.view.document import section
from regard.view.panels import draw

_LARGEST = 3  # columns that the table behind a map names for each row
_WIDE = 18  # columns of a map that takes the whole width
_PANELS = 8  # of all examples together, where one has several
_TITLE = 160  # letters of a title that are shown


def attention(model: nn.Module, task: Task, search: Search, chosen: Sequence[ExampleRow]) -> Markup:
    """Return the attention maps of a model on some inputs.

    For a model without attention, answers are drawn as in a terminal, such as tags under words, or a sentence explains
    why there is no drawing.
    """
    parts: list[Markup] = []
    reasons: list[str] = []
    for row in chosen:
        try:
            panels = task.panels(model, row.asked, search)
        except ValueError as problem:
            reasons.append(str(problem))
            if (drawing := task.drawing(row.prediction)) is not None:
                parts.append(_article(task, row, [element("pre", drawing.plain, class_="drawn")], wide=True))
            continue
        if parts and len(panels) > 1 and (len(parts) + 1) * len(panels) > _PANELS:
            break
        said = {
            plain_title(f"{source} {answer}")
            for source in ("", row.prediction.source, task.shown_input(row.prediction))
            for answer in (row.prediction.text, row.prediction.said())
        }
        keys = [f"example{len(parts) + 1}-{number}" for number in range(1, len(panels) + 1)]
        figures = [view(panel, key, said=said) for panel, key in zip(panels, keys, strict=True)]
        parts.append(_article(task, row, figures, wide=len(panels) > 1 or wide(panels[0])))
    why = [paragraph(text(f"{reason[:1].upper()}{reason[1:]}."), kind="soft") for reason in dict.fromkeys(reasons)]
    return join_markup(why, element("div", parts, class_="looks"))


def view(panel: Panel, key: str, *, said: Collection[str] = ()) -> Markup:
    """Return a panel for the interactive viewer, with a static figure as fallback without scripts.

    Args:
        panel: the panel.
        key: URL fragment key of the view's state.
        said: plain-text titles already shown above the panel, which are not repeated.
    """
    panel = panel.without_vectors() if isinstance(panel, HeadsPanel) else panel
    still = element("noscript", panel_figure(panel, said=said))
    inside = Markup(section([panel], key=key, level=4, titled=plain_title(panel.title) not in said))
    return element("div", inside, still, class_="wide" if wide(panel) else None)


def _article(task: Task, row: ExampleRow, figures: Sequence[Markup], *, wide: bool) -> Markup:
    inside = element("div", figures, class_="figures")
    return element("article", _heading(task, row), inside, class_="wide" if wide else None)


def wide(panel: Panel) -> bool:
    """Return True if a panel needs the whole page width."""
    return isinstance(panel, TextPanel | RegionsPanel | GlimpsePanel | FramesPanel) or (
        not isinstance(panel, GraphPanel) and panel.values.shape[-1] > _WIDE
    )


def _heading(task: Task, row: ExampleRow) -> Markup:
    """Return input and answer, with the reference if the answer is wrong."""
    asked, said = _cut(task.shown_input(row.prediction)), _cut(row.prediction.said())
    right = _cut(" / ".join(row.references))
    beside = element("span", " (right: ", text(right), ")", class_="soft") if row.right is False else None
    return element("h3", text(asked), " → ", text(said), beside)


def panel_figure(panel: Panel, *, said: Collection[str] = ()) -> Markup:
    """Return one panel as a figure that needs no script.

    Args:
        panel: the panel.
        said: plain-text titles already shown above the panel, which are not repeated.
    """
    title = "" if plain_title(panel.title) in said else panel.title
    if isinstance(panel, TextPanel):
        return figure(_marked_lines(panel), _caption(title), wide=wide(panel))
    if isinstance(panel, GraphPanel):
        return figure(network_map(panel), _caption(title))
    if isinstance(panel, RegionsPanel | GlimpsePanel | FramesPanel):
        return figure(_image(panel, _cut(panel.title)), _caption(title), wide=wide(panel))
    values: list[list[float]] = panel.values.detach().float().cpu().tolist()
    across = max(map(len, values), default=0)
    name = _cut(panel.title) or "Weights"
    drawn = heat_map(values, panel.rows, panel.columns, name, down=panel.down, along=panel.along)
    return figure(drawn, _caption(title, crop_note(len(values), across)), _behind(panel, values), wide=wide(panel))


def plain_title(title: str) -> str:
    """Return the words of a title, without isolates of direction, arrows and bars.

    >>> plain_title("where is it?\\tnow → here")
    'where is it now here'
    """
    return " ".join(re.findall(r"\w+", title)) or title.strip()


def _caption(title: str, more: str = "") -> Markup:
    lines = [text(_cut(line)) for line in title.splitlines() if line.strip()]
    shown = [part for one in lines for part in (Markup(" · "), one)][1:]
    return join_markup(element("b", shown), f" {more}" if more else None) if shown or more else Markup("")


def _behind(panel: Panel, values: Sequence[Sequence[float]]) -> Markup:
    """Return a data table with the columns of the largest weights per row."""
    names = panel.columns or tuple(str(number + 1) for number in range(max(map(len, values), default=0)))
    rows = panel.rows or tuple(str(number + 1) for number in range(len(values)))
    found = []
    for name, line in zip(rows, values, strict=True):
        best = sorted(range(len(line)), key=lambda column: -abs(line[column]))[:_LARGEST]
        found.append((name, ", ".join(f"{names[column]} {line[column]:.2f}" for column in best)))
    return numbers_behind([panel.down or "row", "largest weights"], found)


def _marked_lines(panel: TextPanel) -> Markup:
    """Return a text with highlighted words, each line preceded by its weight."""
    values: list[list[float]] = panel.values.detach().float().cpu().tolist()
    largest = max((value for row in values for value in row), default=0.0) or 1.0
    top = max(panel.line_weights, default=0.0) or 1.0
    rows = [
        element("p", _mark(f"{weight:.2f}", weight / top, weight), _words(words, row, largest))
        for weight, words, row in zip(panel.line_weights, panel.words, values, strict=True)
    ]
    return element("div", rows, class_="lines")


def _words(words: Sequence[str], values: Sequence[float], largest: float) -> Markup:
    marked = (_mark(word, value / largest, value) for word, value in zip(words, values, strict=False))
    return join_markup(join_markup(" ", one) for one in marked)


def _mark(word: str, share: float, value: float) -> Markup:
    return element("mark", text(word), style=f"--w:{share:.2f}", title=f"{value:.3g}")


def _image(panel: Panel, said: str) -> Markup:
    """Return weights over a picture or a recording as an image."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.png"
        draw([panel], path)
        data = b64encode(path.read_bytes()).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=f"What the model looks at: {said}")


def _cut(given: str) -> str:
    flat = " ".join(given.split())
    return flat if len(flat) <= _TITLE else f"{flat[: _TITLE - 1]}…"
