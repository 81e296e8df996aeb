"""Attention of a few examples, as parts of a page."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from regard.decode.search import Search
from regard.explain.panel import MarkedText, Network, Panel
from regard.report.examples import Row
from regard.report.figure import figure
from regard.report.heat_map import cropped, heat_map
from regard.report.markup import Markup, element, joined, text
from regard.report.page import paragraph
from regard.report.table import numbers_behind
from regard.tasks.input_output import InputOutput
from regard.tasks.task import Task
from regard.view.panels import draw

_LARGEST = 3  # columns that the table behind a map names for each row
_WIDE = 18  # columns of a map that takes the whole width
_TITLE = 160  # letters of a title that are shown


def attention(model: nn.Module, task: Task, search: Search, chosen: Sequence[Row]) -> Markup:
    """Return what a model looks at while it answers some inputs; a sentence for one that cannot be drawn."""
    return element("div", [_example(model, task, search, row) for row in chosen], class_="figures")


def _example(model: nn.Module, task: Task, search: Search, row: Row) -> Markup:
    try:
        if type(task).draw is not InputOutput.draw:  # a picture of its own, with what was attended to below the weights
            return _picture(model, task, search, row)
        return joined(panel_figure(panel, _wanted(row)) for panel in task.panels(model, row.asked, search))
    except ValueError as problem:
        return paragraph(text(_cut(row.prediction.source)), f": {problem}.", kind="soft")


def _wanted(row: Row) -> str:
    """Return the right answers beside a wrong one."""
    return f"(right: {_cut(' / '.join(row.references))})" if row.right is False else ""


def panel_figure(panel: Panel, note: str = "") -> Markup:
    """Return one panel as a figure that needs no script, with a note behind its title."""
    if isinstance(panel, MarkedText):
        return figure(_marked_lines(panel), _title(panel, note), wide=True)
    if isinstance(panel, Network):
        with tempfile.TemporaryDirectory() as folder:
            draw([panel], Path(folder) / "network.png")
            return figure(_image(Path(folder) / "network.png", panel.title), _title(panel, note))
    values: list[list[float]] = panel.values.detach().float().cpu().tolist()
    across = max(map(len, values), default=0)
    drawn = heat_map(values, panel.rows, panel.columns, _cut(panel.title), down=panel.down, along=panel.along)
    title = _title(panel, note, cropped(len(values), across))
    return figure(drawn, title, _behind(panel, values), wide=across > _WIDE)


def _title(panel: Panel, *more: str) -> Markup:
    lines = [line for line in panel.title.splitlines() if line.strip()]
    said = [text(_cut(line)) for line in lines] or [Markup("Weights")]
    shown = [part for one in said for part in (Markup(" · "), one)][1:]
    return joined(element("b", shown), ((" ", text(one)) for one in more if one))


def _behind(panel: Panel, values: Sequence[Sequence[float]]) -> Markup:
    """Return the columns with the largest weights of each row."""
    names = panel.columns or tuple(str(number + 1) for number in range(max(map(len, values), default=0)))
    rows = panel.rows or tuple(str(number + 1) for number in range(len(values)))
    found = []
    for name, line in zip(rows, values, strict=True):
        best = sorted(range(len(line)), key=lambda column: -abs(line[column]))[:_LARGEST]
        found.append((name, ", ".join(f"{names[column]} {line[column]:.2f}" for column in best)))
    return numbers_behind([panel.down or "row", "largest weights"], found)


def _marked_lines(panel: MarkedText) -> Markup:
    """Return a text with its words marked, the weight of each line before it."""
    values: list[list[float]] = panel.values.detach().float().cpu().tolist()
    largest = max((value for row in values for value in row), default=0.0) or 1.0
    top = max(panel.line_weights, default=0.0) or 1.0
    rows = [
        element("p", _mark(f"{weight:.2f}", weight / top, weight), " ",
                ((_mark(word, value / largest, value), " ") for word, value in zip(words, row, strict=False)))
        for weight, words, row in zip(panel.line_weights, panel.words, values, strict=True)
    ]  # fmt: skip
    return element("div", rows, class_="lines")


def _mark(word: str, share: float, value: float) -> Markup:
    return element("mark", text(word), style=f"--w:{share:.2f}", title=f"{value:.3g}")


def _picture(model: nn.Module, task: Task, search: Search, row: Row) -> Markup:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.png"
        task.draw(model, row.asked, search, path)
        said = f"{_cut(row.prediction.source)} → {_cut(row.prediction.said())}"
        return figure(_image(path, said), joined(element("b", text(said)), " ", text(_wanted(row))), wide=True)


def _image(path: Path, said: str) -> Markup:
    data = b64encode(path.read_bytes()).decode()
    return element("img", src=f"data:image/png;base64,{data}", alt=f"What the model looks at: {said}")


def _cut(given: str) -> str:
    flat = " ".join(given.split())
    return flat if len(flat) <= _TITLE else f"{flat[: _TITLE - 1]}…"
