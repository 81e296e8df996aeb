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

from regard.data.feed import Feed
from regard.evaluate.score import shown
from regard.recipes.sections import Recipe
from regard.runs.checkpoint import Progress as Place
from regard.train.time_spent import TimeSpent, duration
from regard.view.console import Console

ENDED = {"finished": "finished", "patience": "out of patience", "interrupted": "interrupted"}
"""Why a run ended, for people."""
_ON_A_TERMINAL, _ELSEWHERE = 1.0, 30.0  # seconds between two looks at loss and speed
_ALL, _BETWEEN = 20, 2.0  # validations that all have a line; of further ones, seconds between two lines


class Screen:
    """Loss and speed, in a bar or, off a terminal, a line now and then; a line for each validation; and notices."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, quiet=quiet)
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._pace = _Pace()
        self._validations = 0
        self._said = 0.0  # when a validation last had a line

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
        """Print what is trained, and start the progress bar.

        Args:
            recipe: what is trained.
            model: its parameters are counted.
            feed: what it learns from.
            progress: where the run stands.
            processes: how many learn together.
            sharded: whether each of them holds a part of the model.
            ended: why there is nothing more to train: "finished" or "patience"; None if there is.
        """
        count = sum(parameter.numel() for parameter in model.parameters())
        together = "" if processes == 1 else f"; {processes} processes{', sharded' if sharded else ''}"
        self._say(f"[bold]{recipe.run}[/]: {recipe.model.kind}, {count:,} parameters; {escape(str(feed))}{together}")
        if feed.dropped:
            self.notice(f"{feed.dropped:,} examples are longer than a batch may be and were left out")
        if ended is not None:
            more = "; a larger train.steps goes on from there" if ended == "finished" else ""
            self._say(f"{ENDED[ended]} already, after step {progress.step:,}; it is measured again{more}")
            return
        if progress.step:
            self._say(f"going on after step {progress.step:,}")
        self._pace = _Pace()
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
        self._say(f"about {duration(left)} left: {updates:,} updates of {duration(time.update or 0.0)}{validation}")
        if advice is not None:
            self.notice(advice)

    def stepped(self, step: int, nll: float, tokens: int, left: float | None = None) -> None:
        """Show an update: its summed -log p, its number of tokens, and the remaining seconds."""
        self._pace.add(nll, tokens)
        if self._bar is not None:  # which draws itself ten times a second, however often it is told
            self._bar.update(self._task, completed=step)
        if self._pace.seconds < (_ELSEWHERE if self._bar is None else _ON_A_TERMINAL):
            return
        remaining = "" if left is None else f"  about {duration(left)} left"
        if self._bar is not None:
            self._bar.update(self._task, description=f"{self._pace}{remaining}")
        else:
            self._say(f"step {step:>6,}  {self._pace}{remaining}")
        self._pace = _Pace()

    def validated(self, step: int, values: dict[str, float], *, better: bool) -> None:
        """Print a validation; where there are many in a short time, only some of them."""
        self._validations += 1
        if self._validations > _ALL and perf_counter() - self._said < _BETWEEN:
            return
        self._said = perf_counter()
        measured = "  ".join(f"{escape(name)} {shown(value, '.4g')}" for name, value in values.items())
        self._say(f"step {step:>6,}  {measured}{'  [green]best[/]' if better else ''}")
        self._pace = _Pace()  # the validation is no part of the speed

    def notice(self, sentence: str) -> None:
        """Print a warning or a note."""
        self._say(f"[yellow]note:[/] {escape(sentence)}")

    def end(self) -> None:
        """Remove the progress bar."""
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()

    def _say(self, line: str) -> None:
        """Print a line, unwrapped where there is no terminal with a width."""
        try:
            self.console.print(line, soft_wrap=not self.console.is_interactive)
        except OSError:  # the terminal was closed, and the run is worth more than what it shows
            self.console.quiet = True


class _Pace:
    """Loss and speed since it was made."""

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
