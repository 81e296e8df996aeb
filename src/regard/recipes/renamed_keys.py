"""Renamed keys and components of older recipes, which are converted to their current names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from regard.recipes.yaml_document import RecipeDocument, Where


class RenamedKey(NamedTuple):
    """Key that was renamed.

    Attributes:
        old, new: paths of keys.
        value: maps the old value, and that of the new key if it is also set, to the new value; None to drop the key.
        accepts: True for values that the old key allowed; the schema rejects others.
    """

    old: Where
    new: Where
    value: Callable[[Any, Any], Any]
    accepts: Callable[[Any], bool]


def _with_tensorboard(asked: bool, trackers: Any) -> list[str] | None:
    if not asked:
        return None
    named = [trackers] if isinstance(trackers, str) else [one for one in trackers or [] if one != "tensorboard"]
    return [*named, "tensorboard"]


_RENAMED = (
    RenamedKey(
        ("train", "tensorboard"), ("train", "trackers"), _with_tensorboard, lambda value: isinstance(value, bool)
    ),
    RenamedKey(
        ("train", "graphs"),
        ("train", "cuda_graphs"),
        lambda value, given: value if given is None else given,
        lambda value: isinstance(value, bool),
    ),
)


_PARTS = {"align": {"raw": "linear"}, "terms": {"recall": "history"}}
"""Renamed aligners and terms, by their key in `model.attention`."""


def current_name(document: RecipeDocument) -> tuple[RecipeDocument, tuple[str, ...]]:
    """Return a document with the current names of its keys, and a note per renamed key that has an effect.

    >>> document, notes = current_name(RecipeDocument.parse("train: {tensorboard: true}", "mine.yaml"))
    >>> document.content, notes
    ({'train': {'trackers': ['tensorboard']}}, ('mine.yaml, line 1: train.tensorboard is now train.trackers: ...',))
    """
    notes: list[str] = []
    for one in _RENAMED:
        section = document.content.get(str(one.old[0]))
        if not isinstance(section, dict) or one.old[1] not in section or not one.accepts(section[one.old[1]]):
            continue
        value = one.value(section[one.old[1]], section.get(one.new[1]))
        if value is None:
            document = document.without(one.old)
            continue
        old, new = (".".join(map(str, where)) for where in (one.old, one.new))
        shown = str(value).lower() if isinstance(value, bool) else f"[{', '.join(value)}]"
        notes.append(f"{document.place(one.old)}: {old} is now {new}: {shown}")
        document = document.moved(one.old, one.new, value)
    document, parts = _parts_renamed(document)
    return document, (*notes, *parts)


def _parts_renamed(document: RecipeDocument) -> tuple[RecipeDocument, tuple[str, ...]]:
    """Return a document with the current names of the components of its attention, and a note per old name.

    >>> document, notes = _parts_renamed(RecipeDocument.parse("model: {attention: {align: raw}}", "mine.yaml"))
    >>> document.content["model"], notes
    ({'attention': {'align': 'linear'}}, ('mine.yaml, line 1: model.attention.align: raw is now linear',))
    """
    notes: list[str] = []
    for key, names in _PARTS.items():
        where = ("model", "attention", key)
        given = _found(document.content, where)
        value = [_part_renamed(one, names) for one in given] if isinstance(given, list) else _part_renamed(given, names)
        if value == given:
            continue
        old = next(name for name in names if name in str(given))
        notes.append(f"{document.place(where)}: {'.'.join(where)}: {old} is now {names[old]}")
        document = document.moved(where, where, value)
    return document, tuple(notes)


def _found(content: Any, where: Where) -> Any:
    for key in where:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def _part_renamed(part: Any, names: dict[str, str]) -> Any:
    """Return a component, given by name or by a mapping with `name`, with its current name."""
    if isinstance(part, dict):
        return {**part, "name": _part_renamed(part["name"], names)} if "name" in part else part
    return names.get(part, part) if isinstance(part, str) else part
