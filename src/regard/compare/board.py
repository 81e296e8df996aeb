"""Live progress display of a comparison."""

from __future__ import annotations

from contextlib import suppress

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from regard.compare.pool import Pool, State
from regard.compare.trial import Trial
from regard.runs.run import Run
from regard.view.console import Console

_STYLES: dict[State, str] = {"training": "bold", "failed": "red", "waiting": "dim", "done": "green"}
_ROOM = 6  # lines of a terminal that are not for runs


class Board:
    """Live table with a line per run on a terminal; elsewhere a line per start or end of a run."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._seen: list[State] = []

    def __enter__(self) -> Board:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, pool: Pool) -> None:
        """Redraw the table."""
        if self.console.is_terminal:
            self._live.update(_drawn(pool, self.console.height - _ROOM), refresh=True)
            return
        before = self._seen or ["waiting"] * len(pool.trials)
        for number, (state, last) in enumerate(zip(pool.states, before, strict=True)):
            if state != last:
                self.console.print(f"{escape(pool.trials[number].label)}: {_said(pool, number)}", soft_wrap=True)
        self._seen = list(pool.states)

    def stopping(self) -> None:
        """Print that a signal was received."""
        with suppress(OSError):  # the signal may be SIGHUP of a closed terminal
            self._live.stop()
            self.console.print(
                "[yellow]note:[/] stopping after the step each run is in; press Ctrl-C again to stop at once"
            )


def _drawn(pool: Pool, room: int) -> RenderableType:
    """Return as many runs as fit, in the order training, failed, waiting, finished."""
    order = {number: list(_STYLES).index(state) for number, state in enumerate(pool.states)}
    shown = sorted(sorted(order, key=lambda number: order[number])[: max(1, room)])
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for number in shown:
        table.add_row(escape(pool.trials[number].label), _said(pool, number))
    counts = ", ".join(f"{pool.states.count(state)} {state}" for state in _STYLES)
    return Group(table, f"[dim]{len(pool.trials)} runs: {counts}[/]")


def _said(pool: Pool, number: int) -> str:
    state = pool.states[number]
    what = _place(pool.trials[number]) if state == "training" else escape(pool.reasons.get(number, ""))
    return f"[{_STYLES[state]}]{state}[/]{f' {what}' if what else ''}"


def _place(trial: Trial) -> str:
    """Return the progress of a run, and its last validation."""
    rows = list(Run(trial.folder).metrics)
    step = rows[-1]["step"] if rows else 0
    updates = Run(trial.folder).updates(trial.recipe)
    place = f"step {step:,}" + (f" of {updates:,}" if updates is not None else "")
    valid = [row for row in rows if row["split"] == "valid"][-1:]
    values = "  ".join(f"{name} {row[name]:.4g}" for row in valid for name in row if name not in ("step", "split"))
    return f"{place}  [dim]{escape(values)}[/]" if values else place
