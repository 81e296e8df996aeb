"""What a run shows while it runs."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from torch import nn

from regard.recipes.sections import Recipe
from regard.train.checkpoint import Progress as Place
from regard.train.feed import Feed


class Screen:
    """A bar with the loss and the speed, a line for each validation, and notices."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.console = Console(stderr=True, highlight=False, quiet=quiet)
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def begin(self, recipe: Recipe, model: nn.Module, feed: Feed, progress: Place) -> None:
        """Say what is about to happen."""
        count = sum(parameter.numel() for parameter in model.parameters())
        self.console.print(f"[bold]{recipe.run}[/]: {recipe.model['kind']}, {count:,} parameters; {feed}")
        if feed.dropped:
            self.notice(f"{feed.dropped:,} examples are longer than a batch may be and were left out")
        if progress.step:
            self.console.print(f"going on after step {progress.step:,}")
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=recipe.train.steps, completed=progress.step)
        self._bar.start()

    def logged(self, step: int, row: dict[str, float]) -> None:
        """After some updates."""
        if self._bar is not None:
            said = f"loss {row['loss']:.3f}  {row['tokens_per_second']:,.0f} tokens/s"
            self._bar.update(self._task, completed=step, description=said)

    def validated(self, step: int, values: dict[str, float], *, better: bool) -> None:
        """After a validation."""
        shown = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
        self.console.print(f"step {step:>6,}  {shown}{'  [green]best[/]' if better else ''}")

    def notice(self, sentence: str) -> None:
        """Something a person should know."""
        self.console.print(f"[yellow]note:[/] {sentence}")

    def end(self) -> None:
        """The bar has done its work."""
        if self._bar is not None:
            self._bar.stop()
