"""Run folders: their files, recipe, checkpoints and summary, without PyTorch."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.checksum import NAME, DamageError, verify_checksum
from regard.nearest import nearest
from regard.recipes.errors import RecipeError
from regard.recipes.system import default_task
from regard.recipes.yaml_document import RecipeDocument

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

_SUMMARY = "summary.json"
"""Summary of a run that ended, so that the same command prints it again without evaluating."""


class RunError(ValueError):
    """Run folder that cannot be used; the message says why and what to do."""


def recipe_file(folder: Path) -> Path:
    """Return the path of the recipe of a run.

    Raises:
        RunError: the folder is not a run.
    """
    path = folder / "recipe.yaml"
    if not path.exists():
        raise RunError(f"{folder} is not a run: it has no recipe.yaml; {_hint(folder)}")
    try:
        verify_checksum(path)
    except DamageError as problem:
        raise RunError(
            f"{path} is not as it was written ({problem}); put the file back, or, if you changed it on purpose, take "
            f"its lines out of {folder / NAME}"
        ) from None
    return path


def run_folders(folder: Path) -> list[Path]:
    """Return the runs in a folder of runs, those of comparisons too, by name."""
    return sorted(path.parent for pattern in ("*", "*/*") for path in folder.glob(f"{pattern}/recipe.yaml"))


def _hint(folder: Path) -> str:
    """Return advice about a folder that is no run: the nearest name of one, beside it or in `runs`."""
    name = str(folder).removeprefix("run=")
    known = {str(one): one for one in run_folders(Path(name).parent)}
    among = {str(one.relative_to("runs")): one for one in run_folders(Path("runs"))}
    for names in (among, known | {str(one): one for one in among.values()}):
        if name in names:
            return f"did you mean {names[name]}?"
    near = nearest(name, known | among)
    if near is not None:
        return f"did you mean {(known | among)[near]}?"
    listed = ", ".join(map(str, list(known.values())[:5]))
    return f"`regard runs` lists those there are: {listed}" if known else "`regard train` makes one"


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the complete checkpoints in a folder of checkpoints, oldest first."""
    return sorted(path for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else []


def has_training_state(folder: Path) -> bool:
    """Return True if there is anything in a run that would be lost."""
    return (folder / "model.safetensors").exists() or bool(checkpoint_folders(folder / "checkpoints"))


def stored_recipe(folder: Path) -> dict[str, Any]:
    """Return the recipe of a run as written in its file.

    Raises:
        RunError: the folder is not a run, or its recipe cannot be read.
    """
    try:
        return RecipeDocument.read(recipe_file(folder)).content
    except RecipeError as problem:
        raise RunError(f"{problem}; mend the file, or train the run again") from None


def task_of(folder: Path) -> str:
    """Return the task of a run.

    Raises:
        RunError: the folder is not a run, or its recipe cannot be read.
    """
    return str(stored_recipe(folder).get("task", default_task()))


def model_file(folder: Path) -> Path:
    """Return the file with the weights of a run.

    Raises:
        RunError: nothing was trained yet.
    """
    path = folder / "model.safetensors"
    if not path.exists():
        raise RunError(f"{folder} has no model.safetensors yet; train it first: regard train")
    return path


def check_task(folder: Path, task: str) -> None:
    """Check that a folder is a run of a task.

    Raises:
        RunError: the folder is not a run, or one of another task.
    """
    trained = task_of(folder)
    if trained != task:
        raise RunError(f"{folder} was trained for the task {trained!r}; the task of this recipe is {task!r}")


def save_summary(folder: Path, recipe: Recipe, summary: str) -> None:
    """Write the summary of a run that ended, with the recipe and the log that it belongs to."""
    from regard.runs.files import write_json

    write_json(folder / _SUMMARY, {"recipe": recipe.model_dump(mode="json"), "log": _log(folder), "summary": summary})


def saved_summary(folder: Path, recipe: Recipe) -> str | None:
    """Return the summary of a run that ended with this recipe and has not changed since; None otherwise.

    Keys that do not affect training count too: another search or metric is a reason to evaluate again.
    """
    try:
        found = json.loads((folder / _SUMMARY).read_text(encoding="utf-8"))
        same = found["recipe"] == recipe.model_dump(mode="json") and found["log"] == _log(folder)
        summary = found["summary"]
    except (OSError, ValueError, KeyError, TypeError):  # of no run, of one under way, or damaged: measured again
        return None
    return summary if same and isinstance(summary, str) and (folder / "model.safetensors").exists() else None


def _log(folder: Path) -> str:
    """Return the hash of the log: a run that resumes changes it first."""
    return hashlib.sha256((folder / "metrics.jsonl").read_bytes()).hexdigest()
