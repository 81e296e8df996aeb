"""Screen: progress bar, messages and warnings of a training run."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter

from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from torch import nn

from regard.data.batching.feed import Feed
from regard.evaluate.metric_result import format_number
from regard.recipes.sections import Recipe
from regard.runs.checkpoint import Progress as Place
from regard.train.time_spent import TimeSpent, duration
from regard.view.console import Console

ENDED = {"finished": "finished", "patience": "out of patience", "interrupted": "interrupted"}
"""Descriptions of the reasons why a run ended."""
_ON_A_TERMINAL, _ELSEWHERE = 1.0, 30.0  # seconds between two updates of loss and speed
_ALL, _BETWEEN = 20, 2.0  # validations that are all printed; minimum seconds between further ones


class Screen:
    """Progress display: a bar with loss and speed, validations and notes; without a terminal, plain lines.

    Attributes:
        notices: warnings and notes printed so far.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self.notices: list[str] = []
        self.console = Console(stderr=True, quiet=quiet)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._meter = _Meter()
        self._validations = 0
        self._printed = 0.0  # time of the last printed validation

    def begin(
        self,
        recipe: Recipe,
        model: nn.Module,
        feed: Feed,
        progress: Place,
        *,
        processes: int = 1,
        sharded: bool = False,
        ended: str | None = None,
    ) -> None:
        """Print a summary of the run, and start the progress bar.

        Args:
            recipe: recipe of the run.
            model: model, whose parameters are counted.
            feed: training batches.
            progress: progress of the run.
            processes: number of processes.
            sharded: True if the model is divided among them.
            ended: reason why training is over, "finished" or "patience"; None if it is not.
        """
        count = sum(parameter.numel() for parameter in model.parameters())
        together = "" if processes == 1 else f"; {processes} processes{', sharded' if sharded else ''}"
        self._print(f"[bold]{recipe.run}[/]: {recipe.model.kind}, {count:,} parameters; {escape(str(feed))}{together}")
        if feed.dropped:
            self.notice(f"{feed.dropped:,} examples are longer than a batch may be and were left out")
        if ended is not None:
            more = "; a larger train.steps goes on from there" if ended == "finished" else ""
            self._print(f"{ENDED[ended]} already, after step {progress.step:,}; it is measured again{more}")
            return
        if progress.step:
            self._print(f"going on after step {progress.step:,}")
        self._meter = _Meter()
        if self.console.is_interactive:
            self._begin_bar(progress.step, recipe.train.updates)

    def _begin_bar(self, step: int, steps: int) -> None:
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=steps, completed=step)
        self._bar.start()

    def foresee(self, updates: int, left: float, time: TimeSpent, advice: str | None) -> None:
        """Print the remaining time early in a run, and advice if it is long."""
        validation = f", a validation about {duration(time.validation)}" if time.validation else ""
        self._print(f"about {duration(left)} left: {updates:,} updates of {duration(time.update or 0.0)}{validation}")
        if advice is not None:
            self.notice(advice)

    def stepped(self, step: int, nll: float, tokens: int, left: float | None = None) -> None:
        """Show an update, given its summed -log p, its number of tokens, and the remaining seconds."""
        self._meter.add(nll, tokens)
        if self._bar is not None:  # the bar redraws itself at most ten times per second
            self._bar.update(self._task, completed=step)
        if self._meter.seconds < (_ELSEWHERE if self._bar is None else _ON_A_TERMINAL):
            return
        remaining = "" if left is None else f"  about {duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._meter}{remaining}")
        else:
            self._print(f"step {step:>6,}  {self._meter}{remaining}")
        self._meter = _Meter()

    def validated(self, step: int, values: dict[str, float], *, better: bool) -> None:
        """Print a validation; skip some if there are many in a short time."""
        self._validations += 1
        if self._validations > _ALL and perf_counter() - self._printed < _BETWEEN:
            return
        self._printed = perf_counter()
        measured = "  ".join(f"{escape(name)} {format_number(value, '.4g')}" for name, value in values.items())
        self._print(f"step {step:>6,}  {measured}{'  [green]best[/]' if better else ''}")
        self._meter = _Meter()  # exclude the validation from the speed

    def notice(self, sentence: str) -> None:
        """Print a warning or a note."""
        self.notices.append(sentence)
        self._print(f"[yellow]note:[/] {escape(sentence)}")

    def end(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()

    def _print(self, line: str) -> None:
        """Print a line, without wrapping if there is no terminal."""
        try:
            self.console.print(line, soft_wrap=not self.console.is_interactive)
        except OSError:  # the terminal was closed; the run continues without output
            self.console.quiet = True


class _Meter:
    """Meter of loss and speed since its creation."""

    def __init__(self) -> None:
        self._begin, self._nll, self._tokens = perf_counter(), 0.0, 0

    def add(self, nll: float, tokens: int) -> None:
        self._nll += nll
        self._tokens += tokens

    @property
    def seconds(self) -> float:
        return perf_counter() - self._begin

    def __str__(self) -> str:
        return f"loss {self._nll / max(1, self._tokens):.3f}  {self._tokens / self.seconds:,.0f} tokens/s"
