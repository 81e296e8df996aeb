"""Inventory of a folder of runs: task, data, steps, metrics, age, size and state; without PyTorch."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from regard.recipes.system import default_task
from regard.recipes.yaml_values import DEEPEST, UNBUILDABLE
from regard.runs.budget import Budget
from regard.runs.folder import RunError, checkpoint_folders, has_training_state, run_folders

if sys.platform != "win32":
    import fcntl

State = Literal["under way", "finished", "stopped", "not trained", "unreadable"]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, and a folder may have hundreds of recipes
_LONGEST = 2**20  # bytes of a recipe that are read
_TAIL = 2**18  # bytes of a log that are read
_LOSSES = ("perplexity", "loss")
_NO_METRICS = frozenset({"step", "split", "time", "seconds"})


@dataclass(frozen=True)
class RunSummary:
    """Row of the inventory: one run.

    Attributes:
        folder: of the run.
        state: "under way" while a process holds its lock.
        task: of its recipe.
        data: format and files.
        model: kind of the model.
        step: updates made.
        steps: updates of the recipe; None where it says minutes.
        split: the split that was measured last, "test" before "valid"; None if none was.
        metrics: what was measured there, by name.
        chosen: the metric that tells most: what selects the model, or the first that is no loss.
        modified: seconds since the epoch of the last change.
        size: bytes.
    """

    folder: Path
    state: State
    task: str = ""
    data: str = ""
    model: str = ""
    step: int = 0
    steps: int | None = None
    split: str | None = None
    metrics: dict[str, float | None] | None = None
    chosen: str | None = None
    modified: float = 0.0
    size: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        modified = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.modified))
        return {**asdict(self), "folder": str(self.folder), "modified": modified, "metrics": self.metrics or {}}


def inventory(runs: Path) -> list[RunSummary]:
    """Return the runs in a folder, and those of comparisons in it, newest first."""
    return sorted(map(summarise_run, run_folders(runs)), key=lambda one: (-one.modified, str(one.folder)))


def summarise_run(folder: Path) -> RunSummary:
    """Return what the files of a run say; unreadable ones leave gaps."""
    size, modified = _extent(folder)
    recipe = _recipe(folder / "recipe.yaml")
    if recipe is None:
        return RunSummary(folder, "unreadable", size=size, modified=modified)
    rows = _last_rows(folder / "metrics.jsonl")
    row = rows.get("test") or rows.get("valid_averaged") or rows.get("valid")
    metrics = None if row is None else {name: value for name, value in row.items() if _is_metric(name, value)}
    newest = checkpoint_folders(folder / "checkpoints")[-1:]
    step = max([int(path.name) for path in newest] + [int(one.get("step") or 0) for one in rows.values()], default=0)
    steps = _section(recipe, "train").get("steps")
    steps = steps if isinstance(steps, int) else _fitted(folder, _section(recipe, "train").get("minutes"))
    ended = "test" in rows or "valid_averaged" in rows or (steps is not None and step >= steps > 0)
    return RunSummary(
        folder,
        state=_state(folder, ended=ended or _out_of_patience(newest, recipe)),
        task=str(recipe.get("task", default_task())),
        data=_data(_section(recipe, "data")),
        model=str(_section(recipe, "model").get("kind", "")),
        step=step,
        steps=steps,
        split=None if row is None else str(row["split"]).partition("_")[0],
        metrics=metrics,
        chosen=_chosen(metrics or {}, _section(recipe, "evaluate").get("select")),
        modified=modified,
        size=size,
    )


def _recipe(path: Path) -> dict[str, Any] | None:
    """Return the plain values of a recipe; None of a file that is none."""
    try:
        with path.open("rb") as file:
            text = file.read(_LONGEST)
        depth = 0
        for event in yaml.parse(text, _LOADER):  # libyaml builds values by recursion, which ends the whole program
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                return None
        found = yaml.load(text, _LOADER)
    except (OSError, *UNBUILDABLE, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None


def is_running(folder: Path) -> bool:
    """Return True while a process holds the lock of a run.

    A shared lock is taken for a moment where there is such a file: it fails if another process has the exclusive one,
    and what a killed process left is free.
    """
    if sys.platform == "win32":
        return False
    try:
        with (folder / ".lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # no such file, or a file system without locks
        return False
    return False


def _state(folder: Path, *, ended: bool) -> State:
    if is_running(folder):
        return "under way"
    if not has_training_state(folder):
        return "not trained"
    return "finished" if ended else "stopped"


def _section(recipe: dict[str, Any], name: str) -> dict[str, Any]:
    found = recipe.get(name)
    return found if isinstance(found, dict) else {}


def _fitted(folder: Path, minutes: object) -> int | None:
    """Return the updates that `train.minutes` stands for, if they were measured."""
    try:
        budget = Budget.of(folder)
    except (RunError, TypeError):
        return None
    return None if budget is None or not isinstance(minutes, int | float) else budget.within(minutes)


def _data(section: dict[str, Any]) -> str:
    """Return the format and the training files or folder."""
    train = section.get("train", section.get("nodes", section.get("file", section.get("name"))))
    files = train.values() if isinstance(train, dict) else train if isinstance(train, list) else [train]
    named = ", ".join(Path(file).name for file in files if isinstance(file, str))
    return f"{section.get('format', '')} {named}".strip()


def _chosen(metrics: dict[str, float | None], select: object) -> str | None:
    first = select[0] if isinstance(select, list) and select else select
    told = [name for name in metrics if name not in _LOSSES]
    if isinstance(first, str) and first in told:
        return first
    return next((name for name in (*told, *_LOSSES) if name in metrics), None)


def _is_metric(name: str, value: object) -> bool:
    return name not in _NO_METRICS and (value is None or (isinstance(value, int | float) and not math.isnan(value)))


def _out_of_patience(newest: list[Path], recipe: dict[str, Any]) -> bool:
    patience = _section(recipe, "train").get("patience")
    if not newest or not isinstance(patience, int):
        return False
    try:
        waited = json.loads((newest[0] / "progress.json").read_text(encoding="utf-8"))["waited"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(waited, int) and waited >= patience


def _last_rows(log: Path) -> dict[str, dict[str, Any]]:
    """Return the last row of each split; damaged lines are skipped."""
    found: dict[str, dict[str, Any]] = {}
    for line in _tail(log):
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict) and isinstance(row.get("split"), str) and isinstance(row.get("step"), int):
            found[row["split"]] = row
    return found


def _tail(log: Path) -> list[bytes]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _TAIL))
            return file.read().splitlines()
    except OSError:
        return []


def _extent(folder: Path) -> tuple[int, float]:
    """Return the size of all files of a run in bytes, and the time of the last change."""
    sizes, times = [0], [0.0]
    for entry in _files(folder):
        try:
            about = entry.stat(follow_symlinks=False)
        except OSError:  # removed meanwhile
            continue
        sizes.append(about.st_size)
        times.append(about.st_mtime)
    return sum(sizes), max(times)


def _files(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path))
                else:
                    yield entry
    except OSError:
        return
