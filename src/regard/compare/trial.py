"""Trial: one run of a comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from regard.compare.axis import SEED
from regard.compare.clock import Clock
from regard.recipes.sections import Recipe
from regard.runs.folder import RunError


@dataclass(frozen=True)
class Trial:
    """Run folder with its recipe and its place in the comparison.

    Attributes:
        values: what each axis is set to, as it was written, by key.
        label: the same for people: "attention=dot, seed=1".
        recipe: all of it, checked.
        folder: where the run is.
        arguments: those of `regard train`.
    """

    values: Mapping[str, str]
    label: str
    recipe: Recipe
    folder: Path
    arguments: tuple[str, ...]

    @property
    def group(self) -> tuple[tuple[str, str], ...]:
        """Keys and values that it shares with the runs that differ from it only in the seed."""
        return tuple((key, value) for key, value in self.values.items() if key != SEED)

    @property
    def log(self) -> Path:
        """Output of its process."""
        return self.folder / "train.log"

    def finished(self) -> bool:
        """Return True if the run was trained as far as its recipe says, and measured."""
        return Clock(self.folder).clean and self._complete()

    def _complete(self) -> bool:
        from regard.runs.run import Run  # with PyTorch, which a comparison that is wrong does not need

        checkpoints = Run(self.folder).checkpoints()
        paths = checkpoints.paths()
        if not paths:
            return False
        try:
            progress, _ = checkpoints.progress(paths[-1])
        except RunError:  # training says so, and goes on from the one before
            return False
        train = self.recipe.train
        updates = Run(self.folder).updates(self.recipe)
        if updates is not None and progress.step >= updates:
            return True
        return train.patience is not None and progress.waited >= train.patience
