"""Keys that only some systems use: shared keys without effect in other systems, and keys of other systems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel

from regard.recipes.errors import RecipeError
from regard.recipes.sections import Recipe
from regard.recipes.system import SharedKey, System, systems
from regard.recipes.yaml_document import RecipeDocument


def check_shared_keys(recipe: Recipe, document: RecipeDocument) -> None:
    """Check that shared keys which the system of a recipe does not use have their defaults.

    Raises:
        RecipeError: the first key with another value.
    """
    system, known = recipe.system, systems().values()
    every: set[SharedKey] = set().union(*(one.uses for one in known))
    for key in sorted(every - system.uses):
        if _is_default(recipe, key):
            continue
        where = tuple(key.split("."))
        subject = "a search" if key == "decode" else where[-1]
        tasks = _either(one.name for one in known if key in one.uses)
        said = f"{subject} is for the task {tasks}; the task is {system.name!r}"
        raise RecipeError(f"{document.place(where)}: {where[0]}: {said}")


def _either(names: Iterable[str]) -> str:
    """Return names in quotes as alternatives.

    >>> _either(["tag", "classify", "nodes"])
    "'tag', 'classify' or 'nodes'"
    """
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


def _is_default(recipe: Recipe, key: str) -> bool:
    """Return True if a key has its default value."""
    if key == "decode":
        from regard.decode.search import Search

        return recipe.search() == Search()
    section: Any = recipe
    *parents, leaf = key.split(".")
    for name in parents:
        section = getattr(section, name, None)
    if leaf not in getattr(type(section), "model_fields", {}):
        return True  # the model has no such component
    default = type(section).model_fields[leaf].get_default(call_default_factory=True)
    return bool(getattr(section, leaf) == default)


def without_foreign(document: RecipeDocument, system: System) -> RecipeDocument:
    """Return a document without keys of other systems that have their defaults, which older runs wrote to their files.

    Raises:
        RecipeError: a key of another system has another value.
    """
    own, foreign = system.owned(), dict[tuple[str, str], dict[str, Any]]()
    for other in systems().values():
        for where, default in other.owned().items():
            plain = default.model_dump(mode="json") if isinstance(default, BaseModel) else default
            foreign.setdefault(where, {})[other.name] = plain
    for where, defaults in foreign.items():
        section = document.content.get(where[0])
        if where in own or not isinstance(section, dict) or where[1] not in section:
            continue
        if section[where[1]] not in defaults.values():  # two systems may share a key with different defaults
            said = f"{where[1]} is for the task {_either(defaults)}; the task is {system.name!r}"
            raise RecipeError(f"{document.place(where)}: {where[0]}: {said}")
        document = document.without(where)
    return _without_target_kind(document, system)


def _without_target_kind(document: RecipeDocument, system: System) -> RecipeDocument:
    """Return a document without default-valued `data` keys that only another system's variant of the format has."""
    data = document.content.get("data")
    form = data.get("format") if isinstance(data, dict) else None
    mine = system.formats.get(str(form))
    if mine is None or not isinstance(data, dict):
        return document
    for other in systems().values():
        theirs = other.formats.get(str(form))
        for name, field in (theirs.model_fields if theirs is not None and theirs is not mine else {}).items():
            if name in data and name not in mine.model_fields:
                if data[name] != field.get_default(call_default_factory=True):
                    said = f"{name} is for the task {other.name!r}; the task is {system.name!r}"
                    raise RecipeError(f"{document.place(('data', name))}: data: {said}")
                document = document.without(("data", name))
    return document
