"""The table of the benchmark, on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from regard.bench.row import Row, Verdict
from regard.bench.timing import Time

_COLOURS: dict[Verdict, str] = {"faster": "green", "open": "default", "slower": "red"}


def on_screen(rows: Sequence[Row], title: str) -> Table:
    """A line for each row: our time, and how many times faster we are than each other way; † where it was replayed."""
    others = ways(rows)
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("mechanism", "mask", "size", "pass"):
        table.add_column(heading, overflow="fold")
    table.add_column("ours, ms", justify="right")
    for name in others:
        table.add_column(f"vs {name}", justify="right")
    for row in rows:
        table.add_row(
            row.case.mechanism,
            row.case.mask,
            row.case.size,
            "both" if row.gradient else "forward",
            milliseconds(row.times["ours"]) + " †" * row.replayed,
            *(_cell(row, name) for name in others),
        )
    return table


def ways(rows: Sequence[Row]) -> list[str]:
    """All but ours that have a time, in the order in which they came."""
    return list(dict.fromkeys(name for row in rows for name in row.times if name != "ours"))


def summary(rows: Sequence[Row]) -> str:
    """Wins and losses against each way, in a sentence."""
    parts = []
    for name in ways(rows):
        found = [row.verdict(name) for row in rows if name in row.times]
        faster, undecided, slower = (found.count(verdict) for verdict in get_args(Verdict))
        parts.append(f"{name}: {faster} faster, {slower} slower, {undecided} within the spread")
    return "; ".join(parts)


def milliseconds(took: Time) -> str:
    """Three digits and the spread.

    >>> milliseconds(Time(0.0123456, 0.0002)), milliseconds(Time(0.000012, 0.0))
    ('12.3 ± 0.2', '0.0120 ± 0.0000')
    """
    median = took.median * 1000
    digits = 4 if median < 0.1 else 2 if median < 10 else 1
    return f"{median:.{digits}f} ± {took.spread * 1000:.{digits}f}"


def _cell(row: Row, way: str) -> str:
    return f"[{_COLOURS[row.verdict(way)]}]{row.ratios[way]:.2f}×[/]" if way in row.times else "–"
