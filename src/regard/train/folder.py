"""Whether a folder is a run: what can be said before PyTorch is imported."""

from __future__ import annotations

from pathlib import Path


class RunError(ValueError):
    """A run folder that cannot be used; the sentence says why and what to do."""


def recipe_file(folder: Path) -> Path:
    """Where the recipe of a run is.

    Raises:
        RunError: the folder is not a run.
    """
    path = folder / "recipe.yaml"
    if not path.exists():
        raise RunError(f"{folder} is not a run: it has no recipe.yaml; `regard train` makes one")
    return path
