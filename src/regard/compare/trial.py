"""Trial: one run of a comparison."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from regard.compare.axis import REPEATED
from regard.recipes.sections import Recipe
from regard.runs.files import write_json
from regard.runs.folder import RunError


@dataclass(frozen=True)
class Trial:
    """Run folder with its recipe and its place in the comparison.

    Attributes:
        values: value of each axis as written, by key.
        label: readable form of the values: "attention=dot, seed=1".
        recipe: the validated recipe.
        folder: run folder.
        arguments: arguments of `regard train`.
    """

    values: Mapping[str, str]
    label: str
    recipe: Recipe
    folder: Path
    arguments: tuple[str, ...]

    @property
    def group(self) -> tuple[tuple[str, str], ...]:
        """Keys and values that it shares with the runs that differ from it only in seed or fold."""
        return tuple((key, value) for key, value in self.values.items() if key not in REPEATED)

    @property
    def log(self) -> Path:
        """Output of its process."""
        return self.folder / "train.log"

    def finished(self) -> bool:
        """Return True if the run was trained as far as its recipe says, and measured."""
        return Clock(self.folder).clean and self._complete()

    def _complete(self) -> bool:
        from regard.runs.run import Run  # imports PyTorch, which reporting an invalid comparison does not need

        checkpoints = Run(self.folder).checkpoints()
        paths = checkpoints.paths()
        if not paths:
            return False
        try:
            progress, _ = checkpoints.progress(paths[-1])
        except RunError:  # training reports it and resumes from the previous checkpoint
            return False
        train = self.recipe.train
        updates = Run(self.folder).updates(self.recipe)
        if updates is not None and progress.step >= updates:
            return True
        return train.patience is not None and progress.waited >= train.patience


class Clock:
    """`clock.json` of a run folder: the seconds of all parts of a run, and whether the last ended without an error.

    >>> import tempfile
    >>> clock = Clock(Path(tempfile.mkdtemp()))
    >>> with clock.running():
    ...     time.sleep(0.02)
    >>> clock.clean, 0.02 < clock.seconds < 2
    (True, True)
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "clock.json"

    @property
    def seconds(self) -> float:
        """Duration of all parts together."""
        return float(self._read().get("seconds", 0.0))

    @property
    def clean(self) -> bool:
        """True if the last part ended without an error; an interrupt is none."""
        return bool(self._read().get("clean", False))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time a part of the run; the time of a killed part is lost."""
        before, begin, clean = self.seconds, time.perf_counter(), False
        self._write(before, clean)
        try:
            yield
            clean = True
        except SystemExit as end:
            clean = not end.code
            raise
        finally:
            self._write(before + time.perf_counter() - begin, clean)

    def _read(self) -> dict[str, float | bool]:
        try:
            content = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):  # without a clock a run counts as not measured, and is measured again
            return {}
        good = isinstance(content, dict) and all(isinstance(one, int | float) for one in content.values())
        return content if good else {}

    def _write(self, seconds: float, clean: bool) -> None:
        write_json(self._path, {"seconds": round(seconds, 3), "clean": clean})
