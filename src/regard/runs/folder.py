"""Whether a folder is a run: what can be said before PyTorch is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard.recipes.document import Document
from regard.recipes.problem import RecipeError


class RunError(ValueError):
    """A run folder that cannot be used; the sentence says why and what to do."""


def recipe_file(folder: Path) -> Path:
    """Where the recipe of a run is.

    Raises:
        RunError: the folder is not a run.
    """
    path = folder / "recipe.yaml"
    if not path.exists():
        among = Path("runs") / folder
        hint = f"did you mean {among}?" if (among / "recipe.yaml").exists() else "`regard train` makes one"
        raise RunError(f"{folder} is not a run: it has no recipe.yaml; {hint}")
    return path


def checkpoint_folders(folder: Path) -> list[Path]:
    """Return the complete checkpoints in a folder of checkpoints, oldest first."""
    return sorted(path for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else []


def trained(folder: Path) -> bool:
    """Return True if there is anything in a run that would be lost."""
    return (folder / "model.safetensors").exists() or bool(checkpoint_folders(folder / "checkpoints"))


def content_of(folder: Path) -> dict[str, Any]:
    """The recipe of a run as it stands in its file.

    Raises:
        RunError: the folder is not a run, or its recipe cannot be read.
    """
    try:
        return Document.read(recipe_file(folder)).content
    except RecipeError as problem:
        raise RunError(f"{problem}; mend the file, or train the run again") from None


def task_of(folder: Path) -> str:
    """What a run was trained for.

    Raises:
        RunError: the folder is not a run, or its recipe cannot be read.
    """
    return str(content_of(folder).get("task", "translate"))


def check_task(folder: Path, task: str) -> None:
    """See that a folder is a run, and of a task.

    Raises:
        RunError: the folder is not a run, or one of another task.
    """
    trained = task_of(folder)
    if trained != task:
        raise RunError(f"{folder} was trained for the task {trained!r}; the task of this recipe is {task!r}")
