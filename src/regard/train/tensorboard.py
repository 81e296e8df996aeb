"""What was measured, for TensorBoard."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from regard.recipes.problem import RecipeError


class Events:
    """Event files in a run's folder: `tensorboard --logdir runs` draws every run that has some.

    A scalar is called by its name and its split, `loss/train` and `loss/valid`, so that TensorBoard draws the splits of
    one measure side by side. They are the rows of `metrics.jsonl`, which stays the record.

    Args:
        folder: where the files go; the run's folder.
        step: where the run goes on; what an earlier part of it wrote for later steps is hidden. 0 for a new run.

    Raises:
        RecipeError: the package tensorboard is not installed.
    """

    def __init__(self, folder: Path, *, step: int = 0) -> None:
        if importlib.util.find_spec("tensorboard") is None:
            raise RecipeError(
                "train.tensorboard is true, but the package tensorboard is not installed; "
                "pip install 'regard[tensorboard]', or set it to false"
            )
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(folder), purge_step=step + 1)

    def add(self, step: int, split: str, values: Mapping[str, float]) -> None:
        """What was measured on a split after a step."""
        for name, value in values.items():
            self._writer.add_scalar(f"{name}/{split}", value, global_step=step)

    def close(self) -> None:
        """Write what is still in memory."""
        self._writer.close()
