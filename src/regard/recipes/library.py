"""Lookup of recipes: shipped ones by name, and files by path."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from regard.nearest import nearest
from regard.parts import system_modules
from regard.recipes.errors import RecipeError

_SUFFIXES = (".yaml", ".yml")


def shipped() -> dict[str, Path]:
    """Return the recipes of all systems by name, without importing the systems."""
    found: dict[str, Path] = {}
    for module in system_modules():
        spec = find_spec(module)
        for folder in (spec.submodule_search_locations if spec is not None else None) or ():
            found |= {path.stem: path for path in Path(folder).glob("*.yaml")}
    return dict(sorted(found.items()))


def find_recipe(name: str) -> Path:
    """Return the file of a shipped recipe, or of a path.

    Raises:
        RecipeError: there is none; the message has the nearest name among shipped recipes and in the path's folder.
    """
    path = shipped().get(name) or Path(name)
    if path.is_dir():
        raise RecipeError(f"{name} is a folder; name a recipe: a YAML file, or one of `regard recipes`")
    if path.exists():
        return path
    if "=" in name:
        raise RecipeError(f"there is no recipe {name!r}; the recipe comes first: regard train RECIPE {name}")
    known = {one: one for one in shipped()} | _beside(path)
    near = nearest(name, known)
    hint = f"did you mean {known[near]}?" if near else f"recipes that ship: {', '.join(shipped())}"
    raise RecipeError(f"there is no recipe {name!r}, and no such file; {hint}")


def _beside(path: Path) -> dict[str, str]:
    """Return the recipes in the folder of a path, by their paths with and without the suffix."""
    try:
        files = [path.parent / one.name for one in path.parent.iterdir() if one.suffix in _SUFFIXES]
    except OSError:  # the folder is missing or unreadable
        return {}
    return {name: str(file) for file in sorted(files) for name in (str(file.with_suffix("")), str(file))}
