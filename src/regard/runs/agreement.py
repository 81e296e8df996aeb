"""Recipe of a run, and the check that another recipe may resume it; without PyTorch."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.plugins import RECORD, plugin_sources, recorded_plugins
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.folder import RunError, checkpoint_folders, has_training_state, recipe_file

BEGINNING = re.compile(r"tokenizer(\.target)?\.split|model\.(\w+\.)*scale")
"""Keys that count until a run has its tokenizers and weights, and never after; null goes on with what the run has."""
FREE = re.compile(
    r"run|decode(\..*)?|evaluate\.(metrics|group|rows|examples)(\..*)?"
    r"|train\.(steps|minutes|log_every|valid_every|checkpoint_every|cuda_graphs|gradient_checkpointing|sharding|trackers)"
)
"""Keys that a run may go on with other values of: they change nothing that is learned."""


def recipe_of(folder: Path, overrides: list[str] | None = None, *, model: bool = True) -> Recipe:
    """Return the recipe of a run.

    Args:
        folder: folder of the run.
        overrides: assignments such as `decode.beam_size=10`.
        model: also build the model on the meta device, which needs PyTorch.
    """
    document = RecipeDocument.read(recipe_file(folder))
    _add_earlier_defaults(document.content)
    recipe = check(document.overridden(overrides or []), model=model).recipe
    _check_plugins(folder, recipe)
    return recipe


def agree(folder: Path, recipe: Recipe) -> None:
    """Check that a run with training state was trained with this recipe.

    Raises:
        RunError: it was not; the message names the keys that differ.
    """
    if not (folder / "recipe.yaml").exists() or not has_training_state(folder):
        return
    now = recipe.model_dump(mode="json")
    changed = _difference(recipe_of(folder, model=False).model_dump(mode="json"), now)
    for newest in checkpoint_folders(folder / "checkpoints")[-1:]:
        with suppress(RunError):  # of earlier versions without a recipe, or damaged: training goes by the one before
            changed |= _difference(recipe_of(newest, model=False).model_dump(mode="json"), now)
    if changed:
        raise RunError(
            f"{folder} holds a run of another recipe (different: {', '.join(sorted(changed))}); "
            "give this one another name with run=NAME, or remove the folder"
        )


def read_back(folder: Path, recipe: Recipe) -> None:
    """Check that the stored recipe of a run parses to this one, so that the run can be loaded later.

    Raises:
        RunError: it cannot be parsed, or the value of a key differs.
    """
    try:
        written = recipe_of(folder, model=False).model_dump(mode="json")
    except RecipeError as problem:
        raise RunError(f"{folder}: the recipe of this run cannot be read back: {problem}") from None
    now = recipe.model_dump(mode="json")
    if written != now:
        changed = sorted(_difference(written, now)) or ["keys that change nothing that is learned"]
        raise RunError(
            f"{folder}: the recipe of this run is read back with other values (different: {', '.join(changed)})"
        )


def _check_plugins(folder: Path, recipe: Recipe) -> None:
    """Check that the plug-ins of a run are unchanged since it started."""
    before = recorded_plugins(folder)
    for name, now in plugin_sources(recipe.plugins).items():
        if name in before and before[name].get("hash") != now["hash"]:
            raise RunError(
                f"{folder} was begun with another version of {name}: {now['file']} has changed since; restore it, or "
                f"remove {folder / RECORD} to resume with the changed one"
            )


def _add_earlier_defaults(content: dict[str, Any]) -> None:
    """Add keys that are newer than the run, with values that reproduce the former behaviour."""
    section = content.get("tokenizer")
    for part in (section, section.get("target")) if isinstance(section, dict) else ():
        if isinstance(part, dict) and part.get("kind") == "words":
            part.setdefault("split", "whitespace")


def _difference(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> set[str]:
    """Return the keys whose values differ, except those that may change."""
    found: set[str] = set()
    for key in one.keys() | other.keys():
        name = f"{prefix}{key}"
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            found |= _difference(mine, theirs, f"{name}.")
        elif mine != theirs and not FREE.fullmatch(name) and not (theirs is None and BEGINNING.fullmatch(name)):
            found.add(name)
    return found
