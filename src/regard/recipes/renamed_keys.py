"""Keys and names of parts of older recipes, read under their present names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from regard.recipes.yaml_document import RecipeDocument, Where


class RenamedKey(NamedTuple):
    """A key that has another name now.

    Attributes:
        old, new: paths of keys.
        value: from the old value and that of the new key, if it is given too, to the new value; None to drop the key.
        accepts: whether the old key could hold a value; others are left for the schema to refuse.
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
"""Names of aligners and of terms, by the key of `model.attention` that holds them."""


def current_name(document: RecipeDocument) -> tuple[RecipeDocument, tuple[str, ...]]:
    """Return a document with the present names of its keys, and a note for each old one that says something.

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
    """Return a document with the present names of the parts of its attention, and a note for each old one.

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
    """A part, given by its name or by a mapping with `name`, under its present name."""
    if isinstance(part, dict):
        return {**part, "name": _part_renamed(part["name"], names)} if "name" in part else part
    return names.get(part, part) if isinstance(part, str) else part
