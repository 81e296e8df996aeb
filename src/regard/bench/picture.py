"""The picture of the benchmark: a line for each row, a mark for each way it was run beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.bench.row import Row
from regard.bench.table import ways
from regard.runs.files import written

_TICKS = tuple(digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5))


def draw(rows: Sequence[Row], title: str, path: Path) -> None:
    """How many times faster ours is, on a logarithmic axis; left of the line at 1 are the losses."""
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
    with written(path) as draft:
        figure.savefig(draft, format="png", dpi=150)
    pyplot.close(figure)
