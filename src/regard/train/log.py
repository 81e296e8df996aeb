"""Training log: `metrics.jsonl`, and the trackers of the recipe."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import accelerate.tracking

from regard.recipes.sections import Recipe
from regard.runs.checkpoint import Progress
from regard.runs.files import read_json, write_json
from regard.train.training_session import TrainingSession

_PROJECT = "regard"
_MOST_FAILURES = 3  # in a row, after which a tracker is dropped
_NAME = "trackers.json"


class TrainingLog:
    """Writes each measurement to `metrics.jsonl` and to trackers, on the main process.

    Attributes:
        train_loss: the last logged loss on training data; None before the first.
    """

    def __init__(self, session: TrainingSession) -> None:
        self.session = session
        self.train_loss: float | None = None
        self._trackers: Trackers | None = None

    def open(self, progress: Progress) -> None:
        """Drop rows after the step at which the run resumes, and start the trackers."""
        session = self.session
        if not session.is_main:
            return
        for damage in session.run.metrics.rewind(progress.step):
            session.screen.notice(damage)
        if session.recipe.train.trackers:
            notice = session.screen.notice
            self._trackers = Trackers(session.recipe, session.run.folder, step=progress.step, notice=notice)

    def add(self, step: int, split: str, values: Mapping[str, float]) -> None:
        """Add a row."""
        if self.session.is_main:
            self.session.run.metrics.add(step, split, **values)
        if self._trackers is not None:
            self._trackers.add(step, split, values)

    def add_training(self, progress: Progress) -> None:
        """Add a row with the mean training loss since the last one."""
        self.train_loss = progress.logged_nll / max(progress.logged_tokens, 1)
        progress.logged_nll, progress.logged_tokens = 0.0, 0
        rate = self.session.optimizer.param_groups[0]["lr"]
        self.add(progress.step, "train", {"loss": self.train_loss, "rate": rate})

    def close(self) -> None:
        """End the trackers."""
        if self._trackers is not None:
            self._trackers.close()


class Trackers:
    """Experiment trackers, which receive a copy of each row of `metrics.jsonl`. None of their failures ends a run.

    A metric is named by itself and its split, `loss/train` and `loss/valid`, so that trackers draw the splits of one
    metric next to each other. A resumed run continues the same tracker runs, whose ids are in `trackers.json`.

    Args:
        recipe: recipe that names the trackers, and is logged as their configuration.
        folder: run folder.
        step: step at which the run resumes; 0 for a new run.
        notice: prints a message when a tracker fails.
    """

    def __init__(self, recipe: Recipe, folder: Path, *, step: int = 0, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._failures: dict[str, int] = {}
        self._trackers: dict[str, Any] = {}
        path = folder / _NAME
        ids: dict[str, str] = read_json(path) if path.exists() else {}
        for name in recipe.train.trackers:
            self._attempt(name, partial(self._start, name, recipe, folder, step, ids))
        if ids:
            write_json(path, ids)

    def add(self, step: int, split: str, values: Mapping[str, float]) -> None:
        """Send the metrics of a split at a step."""
        for name in list(self._trackers):
            row = {_measure(name, f"{measure}/{split}"): float(value) for measure, value in values.items()}
            self._attempt(name, partial(self._trackers[name].log, row, step=step))

    def close(self) -> None:
        """Flush and end all trackers."""
        for name, tracker in self._trackers.items():
            self._attempt(name, tracker.finish)

    def _start(self, name: str, recipe: Recipe, folder: Path, step: int, ids: dict[str, str]) -> None:
        tracker = accelerate.tracking.LOGGER_TYPE_TO_CLASS[name](**_arguments(name, recipe, folder, step, ids))
        tracker.start()
        self._trackers[name] = tracker
        known, number = name in ids, _number(name, tracker)
        if number is not None:
            ids[name] = number
        if name != "tensorboard" and not known:  # without an id, the tracker would start another run
            tracker.store_init_configuration(_flat(recipe.model_dump(mode="json")))

    def _attempt(self, name: str, tell: Callable[[], object]) -> None:
        """Call a tracker; its first failure is printed, and after some failures it is dropped."""
        try:
            tell()
            self._failures[name] = 0
        except Exception as problem:  # any error: a tracker must not end the run
            failed = self._failures[name] = self._failures.get(name, 0) + 1
            if failed == 1:
                why = str(problem).partition("\n")[0] or type(problem).__name__
                self._notice(f"the tracker {name} failed ({why}); training goes on, and metrics.jsonl has all rows")
            if failed >= _MOST_FAILURES:
                self._trackers.pop(name, None)


def _arguments(name: str, recipe: Recipe, folder: Path, step: int, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the constructor arguments of a tracker."""
    if name == "tensorboard":  # hide steps that an interrupted run logged after its last checkpoint
        return {"run_name": folder.name, "logging_dir": str(folder.parent), "purge_step": step + 1}
    if name == "mlflow":
        return {"experiment_name": _PROJECT, "run_name": recipe.run, "run_id": ids.get(name)}
    if name == "trackio":
        return {"run_name": _PROJECT, "name": recipe.run, "resume": "allow"}
    # Its capture of the console breaks the progress bar, and duplicates the run's own files.
    settings = {"dir": str(folder), "resume": "allow", "settings": {"console": "off"}}
    return {"run_name": os.environ.get("WANDB_PROJECT", _PROJECT), "name": recipe.run, "id": ids.get(name), **settings}


def _number(name: str, tracker: Any) -> str | None:
    """Return the id with which a tracker resumes its run; None if the name of the run is enough."""
    if name == "wandb":
        return str(tracker.tracker.id)
    return str(tracker.tracker.info.run_id) if name == "mlflow" else None


def _measure(name: str, measure: str) -> str:
    """Return the name of a metric with only the characters that a tracker allows.

    >>> _measure("mlflow", "note_bleu:order=1/valid"), _measure("wandb", "note_bleu:order=1/valid")
    ('note_bleu:order_1/valid', 'note_bleu:order=1/valid')
    """
    return re.sub(r"[^\w\-. :/]", "_", measure) if name == "mlflow" else measure


def _flat(content: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested keys to dotted ones, with plain values.

    >>> _flat({"train": {"steps": 9, "batch": {"tokens": None}}, "run": "x"})
    {'train.steps': 9, 'train.batch.tokens': 'None', 'run': 'x'}
    """
    found: dict[str, Any] = {}
    for key, value in content.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value if isinstance(value, str | int | float) else str(value)
    return found
