"""Table of a comparison: on the screen, in Markdown, in CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from regard.compare.comparison import Comparison
from regard.compare.result import ResultRow, Spread, higher_is_better, measured


class TableCell(NamedTuple):
    """Text of a cell; `best` marks the best of its column."""

    text: str
    best: bool = False


class TableColumn(NamedTuple):
    """Heading with a cell per row; numbers are right-aligned."""

    heading: str
    cells: list[TableCell]
    number: bool = True


def columns(comparison: Comparison, rows: Sequence[ResultRow]) -> list[TableColumn]:
    """Return the columns: values of the axes, cost of each model, measures, and reasons of failures."""
    found = [
        TableColumn(head, [TableCell(row.values[key]) for row in rows], number=False)
        for key, head in comparison.heads.items()
    ]
    if any(row.trials > 1 for row in rows):
        found.append(TableColumn("runs", [TableCell(_count(row)) for row in rows]))
    found.append(_counts("parameters", [Spread.of(result.parameters for result in row.results) for row in rows]))
    found.append(_counts("steps", [Spread.of(result.step for result in row.results) for row in rows]))
    for split, name in measured(rows):
        values = [row.measure(split, name) for row in rows]
        found.append(_measures(f"{split} {name.replace('_', ' ')}", values, higher_is_better(name)))
    found.append(_counts("seconds", [Spread.of(result.seconds for result in row.results) for row in rows]))
    if any(row.problem for row in rows):
        found.append(TableColumn("failed", [TableCell(row.problem) for row in rows], number=False))
    return found


def on_screen(comparison: Comparison, found: Sequence[TableColumn]) -> Table:
    """For the terminal; the best of each column is bold."""
    table = Table(title=escape(str(comparison.folder)), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in found:
        table.add_column(escape(column.heading), justify="right" if column.number else "left", overflow="fold")
    for cells in zip(*(column.cells for column in found), strict=True):
        table.add_row(*(f"[bold]{escape(text)}[/]" if best else escape(text) for text, best in cells))
    return table


def markdown(comparison: Comparison, found: Sequence[TableColumn]) -> str:
    """Return a page with the command, the table and the picture."""
    lines = [
        f"# {comparison.folder.name}",
        "",
        "```bash",
        comparison.command,
        "```",
        "",
        _line(column.heading for column in found),
        _line("---:" if column.number else "---" for column in found),
    ]
    rows = zip(*(column.cells for column in found), strict=True)
    lines += [_line(f"**{text}**" if best else text for text, best in cells) for cells in rows]
    lines += [
        "",
        "Measured is the model that a run kept: the best by `evaluate.select`, or the mean of its last `train.average` "
        "checkpoints; ± is the standard deviation over seeds or folds (n - 1).",
        "",
    ]
    return "\n".join([*lines, "![validation by step, and the result of each row](comparison.png)", ""])


def as_csv(comparison: Comparison, rows: Sequence[ResultRow]) -> str:
    """Return a line per finished run, seeds one by one, with unrounded numbers."""
    names = measured(rows)
    keys = [axis.key for axis in comparison.axes]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["run", *keys, "parameters", "steps", *(f"{split} {name}" for split, name in names), "seconds"])
    for result in (result for row in rows for result in row.results):
        values = [result.trial.values[key] for key in keys]
        found = [result.measures.get(name, "") for name in names]
        writer.writerow([result.trial.recipe.run, *values, result.parameters, result.step, *found, result.seconds])
    return text.getvalue()


def number(spread: Spread | None) -> str:
    """Format a mean with four significant digits, and the deviation with the same number of decimals.

    >>> number(Spread(0.98312, 0.0021)), number(Spread(34.1234, None)), number(Spread(3.2e-6, None)), number(None)
    ('0.9831 ± 0.0021', '34.12', '3.200e-06', '–')
    """
    if spread is None:
        return "–"
    size = abs(spread.mean)
    if 0 < size < 1e-3 or not math.isfinite(size):
        return _with_deviation(spread, ".3e")
    return _with_deviation(spread, f",.{min(4, max(0, 3 - math.floor(math.log10(max(size, 1e-3)))))}f")


def _with_deviation(spread: Spread, form: str) -> str:
    mean, deviation = spread
    return f"{mean:{form}}" if deviation is None else f"{mean:{form}} ± {deviation:{form}}"


def _measures(heading: str, values: Sequence[Spread | None], higher: bool | None) -> TableColumn:
    means = [value.mean for value in values if value is not None and not math.isnan(value.mean)]
    best = None if higher is None or len(values) < 2 or not means else (max if higher else min)(means)
    return TableColumn(
        heading, [TableCell(number(value), value is not None and value.mean == best) for value in values]
    )


def _counts(heading: str, values: Sequence[Spread | None]) -> TableColumn:
    """Return whole numbers, with a deviation only where there is one."""
    texts = [
        "–" if value is None else _with_deviation(value if value.deviation else Spread(value.mean, None), ",.0f")
        for value in values
    ]
    return TableColumn(heading, [TableCell(text) for text in texts])


def _count(row: ResultRow) -> str:
    done = len(row.results)
    return str(done) if done == row.trials else f"{done} of {row.trials}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
