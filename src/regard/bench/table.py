"""Table and figure of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from regard.bench.row import CaseResult, Verdict
from regard.bench.timing import Time
from regard.runs.files import atomic_path

_COLOURS: dict[Verdict, str] = {"faster": "green", "open": "default", "slower": "red"}


def on_screen(rows: Sequence[CaseResult], title: str) -> Table:
    """Return a table: our time, and our speed-up over each other implementation; † marks CUDA-graph replays."""
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


def ways(rows: Sequence[CaseResult]) -> list[str]:
    """Return the timed implementations except ours, in order of first occurrence."""
    return list(dict.fromkeys(name for row in rows for name in row.times if name != "ours"))


def summary(rows: Sequence[CaseResult]) -> str:
    """Return wins and losses against each implementation, in a sentence."""
    parts = []
    for name in ways(rows):
        found = [row.verdict(name) for row in rows if name in row.times]
        faster, undecided, slower = (found.count(verdict) for verdict in get_args(Verdict))
        parts.append(f"{name}: {faster} faster, {slower} slower, {undecided} within the spread")
    return "; ".join(parts)


def milliseconds(took: Time) -> str:
    """Format a time in milliseconds with three digits and its spread.

    >>> milliseconds(Time(0.0123456, 0.0002)), milliseconds(Time(0.000012, 0.0))
    ('12.3 ± 0.2', '0.0120 ± 0.0000')
    """
    median = took.median * 1000
    digits = 4 if median < 0.1 else 2 if median < 10 else 1
    return f"{median:.{digits}f} ± {took.spread * 1000:.{digits}f}"


def _cell(row: CaseResult, way: str) -> str:
    return f"[{_COLOURS[row.verdict(way)]}]{row.ratios[way]:.2f}×[/]" if way in row.times else "–"


_TICKS = tuple(digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5))


def draw(rows: Sequence[CaseResult], title: str, path: Path) -> None:
    """Draw the speed-ups on a logarithmic axis; values left of 1 are losses."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(9.5, max(2.8, 1.4 + 0.24 * len(rows))), layout="constrained")
    for number, name in enumerate(ways(rows)):
        places = [place for place, row in enumerate(rows) if name in row.ratios]
        values = [rows[place].ratios[name] for place in places]
        axis.plot(values, places, "osD^vP*X"[number % 8], color=f"C{number}", label=f"vs {name}", linestyle="")
    axis.axvline(1.0, color="black", linewidth=1)
    axis.set_xscale("log")
    shown = [ratio for row in rows for ratio in row.ratios.values()]
    ticks = [tick for tick in _TICKS if min(shown) <= 2 * tick and tick <= 2 * max(shown)]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_yticks(range(len(rows)), [f"{row.case}, {'both' if row.gradient else 'forward'}" for row in rows])
    axis.tick_params(axis="y", labelsize=7)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set(xlabel="times faster than (slower left of 1)", title=title)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png", dpi=150)
    pyplot.close(figure)
