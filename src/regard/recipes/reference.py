"""Reference of recipes: type, range, default and description of each key, generated from the code."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.arguments import LARGEST, PartKind
from regard.nearest import nearest
from regard.parts import PARTS
from regard.recipes.argument_sections import OneOf
from regard.recipes.messages import Candidate, candidates_of
from regard.recipes.schema import recipe_class
from regard.recipes.section import Section
from regard.recipes.sections import Recipe
from regard.recipes.source import class_source
from regard.recipes.system import systems

_TAGS = ("format", "kind", "name")
_WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false", Path: "path", type(None): "null"}
_PARTS: tuple[tuple[str, PartKind], ...] = (
    ("encoder", "encoder"),
    ("score", "score"),
    ("align", "aligner"),
    ("terms", "term"),
)
_SIGNS = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))


class Key(NamedTuple):
    """A key of a section.

    Attributes:
        name: name of the key.
        type: type and range, in words.
        default: default in YAML; "required" if it has none.
        sentence: description of the key.
    """

    name: str
    type: str
    default: str
    sentence: str


class Chapter(NamedTuple):
    """A section of recipes.

    Attributes:
        path: path of the section, such as `model.luong.attention`.
        label: description of the section.
        keys: keys of the section.
    """

    path: str
    label: str
    keys: list[Key]


def reference(path: str | None = None) -> list[Chapter]:
    """Return the reference of all sections, or of the section or key at a path.

    Raises:
        ValueError: there is no such key.
    """
    if path is None:
        return _shared(list(_everything()))
    found: list[tuple[str, Candidate]] = [("", recipe_class(system)) for system in systems().values()]
    walked: list[str] = []
    parts = path.split(".")
    for number, part in enumerate(parts):
        owners = [one for _, one in found]
        inner = _below(owners, part)
        if inner is None:
            known = sorted({name for one in owners for name in _names(one)})
            near = nearest(part, known)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(known)}"
            raise ValueError(f"there is no key {'.'.join([*walked, part])!r}; {hint}")
        walked.append(part)
        if not inner and number == len(parts) - 1:  # the last part is a key with a plain value
            return [_keys(".".join(walked[:-1]) or "recipe", owners, part)]
        if not inner:
            raise ValueError(f"the key {'.'.join(walked)!r} has a plain value; leave out {parts[number + 1]!r}")
        found = [(part, one) for one in inner]
    return _shared([one for _, section in found for one in _chapters(path, section, None)])


def markdown(chapters: list[Chapter]) -> str:
    """Return the Markdown of chapters, with one table per section."""
    lines = ["# The keys of recipes", "", "Printed by `regard recipes --reference --markdown`.", ""]
    for path, label, keys in chapters:
        lines += [f"## {path}", "", label, "", "| key | type | default | description |", "|---|---|---|---|"]
        for name, kind, default, sentence in keys:
            cells = (f"`{name}`", kind, default if default == "required" else f"`{default}`", sentence)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _everything() -> Iterator[Chapter]:
    yield _keys("recipe", [Recipe], None)
    known, records = list(systems().values()), dict[str, str]()
    for path in ("data", "tokenizer", "train", "decode", "evaluate"):
        for system in known:
            for one in candidates_of(recipe_class(system).model_fields[path]):
                yield from _chapters(path, one, records)
    places = {name: place for system in known for name, place in system.models.items()}
    yield from _chapters("model", OneOf("model", {**PARTS["model"], **places}), records)
    for path, kind in _PARTS:
        yield from _chapters(path, OneOf(kind, PARTS[kind]), records)


def _shared(chapters: list[Chapter]) -> list[Chapter]:
    """Merge chapters of the same path, with shared keys first, and remove duplicates."""
    found: dict[str, Chapter] = {}
    for one in chapters:
        before = found.get(one.path)
        keys = one.keys if before is None else [*before.keys, *(key for key in one.keys if key not in before.keys)]
        found[one.path] = one._replace(keys=keys)
    return list(found.values())


def _chapters(path: str, section: Candidate, records: dict[str, str] | None) -> Iterator[Chapter]:
    """Yield the chapters of a section and its inner sections; one per name for a choice.

    Args:
        path: path of the section.
        section: section or union of sections.
        records: paths of the records that have their own chapter, by key; None to omit inner sections.
    """
    if isinstance(section, OneOf):
        for name in section.names:
            yield from _chapters(f"{path}.{name}", section.section(name), records)
        return
    form = section.model_fields.get("format")
    names = () if form is None else typing.get_args(form.annotation)
    here = f"{path}.{names[0]}" if names and not path.endswith(f".{names[0]}") else path
    yield _keys(here, [section], None)
    for name, field in section.model_fields.items() if records is not None else ():
        for inner in candidates_of(field):
            if isinstance(inner, OneOf):
                continue
            place = inner.__dict__.get("place")
            shared = place is not None and records is not None and records.setdefault(name, place) == place
            yield from _chapters(name if shared else f"{here}.{name}", inner, records)


def _below(owners: list[Candidate], part: str) -> list[Candidate] | None:
    """Return the sections under a key or a name; empty for a key with a plain value, None for an unknown key."""
    found: list[Candidate] = []
    known = False
    for one in owners:
        if isinstance(one, OneOf):
            if part in one.names:
                found.append(one.section(part))
            continue
        if part in one.model_fields:
            known = True
            found += candidates_of(one.model_fields[part])
        elif part in _names(one):  # a format selects the section itself
            found.append(one)
    unique = [one for number, one in enumerate(found) if one not in found[:number]]
    return unique if unique or known else None


def _names(one: Candidate) -> tuple[str, ...]:
    if isinstance(one, OneOf):
        return one.names
    form = one.model_fields.get("format")
    return (*one.model_fields, *(() if form is None else typing.get_args(form.annotation)))


def _keys(path: str, sections: list[Candidate], only: str | None) -> Chapter:
    found: dict[str, Key] = {}
    label = ""
    for section in sections:
        if isinstance(section, OneOf):
            continue
        label = label or (section.__doc__ or "").strip().partition("\n")[0]
        said = _sentences(section)
        for name, field in section.model_fields.items():
            if only in (None, name):
                sentence = " ".join((field.description or said.get(name, "")).split()).replace("None", "null")
                found.setdefault(name, Key(name, _type(field), _default(field), sentence))
    first = sorted(found.values(), key=lambda key: key.name not in _TAGS)
    return Chapter(path, label, first)


def _sentences(section: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions below the fields of a section's class."""
    found: dict[str, str] = {}
    for owner in reversed(section.__mro__):
        if issubclass(owner, Section):
            try:
                found |= class_source(f"{owner.__module__}:{owner.__qualname__}").sentences()
            except ValueError:  # created by `create_model`, without source
                continue
    return found


def _type(field: FieldInfo) -> str:
    """Return the type and range of a key in words."""
    bounds = [*field.metadata, *_inner(field.annotation)]
    return " ".join([_in_words(field.annotation, field.metadata), *dict.fromkeys(_bounds(bounds))])


def _in_words(annotation: Any, metadata: list[Any] | tuple[Any, ...] = ()) -> str:
    choice = next((one for one in metadata if isinstance(one, OneOf)), None)
    if choice is not None:
        return (
            f"{'name or mapping with name' if choice.tag == 'name' else 'mapping with kind'}: {', '.join(choice.names)}"
        )
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(str(part) for part in parts)
    if origin is typing.Annotated:
        return _in_words(parts[0], parts[1:])
    if origin in (list, tuple):
        return f"list of {_in_words(parts[0])}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_in_words(part) for part in parts))
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "mapping"
    return _WORDS.get(annotation, "any value")


def _inner(annotation: Any) -> list[Any]:
    """Return the metadata of the alternatives of an annotation."""
    if typing.get_origin(annotation) is typing.Annotated:
        return list(chain.from_iterable(getattr(one, "metadata", (one,)) for one in annotation.__metadata__))
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, tuple):
        return [bound for part in typing.get_args(annotation) for bound in _inner(part)]
    return []


def _bounds(metadata: list[Any]) -> Iterator[str]:
    for one in metadata:
        for attribute, sign in _SIGNS:
            value = getattr(one, attribute, None)
            if value is not None and value < LARGEST:
                yield f"{sign} {value:,}" if isinstance(value, int) else f"{sign} {value:g}"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined and field.default_factory is None:
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        given = value.model_dump(exclude_unset=True)
        value = next(iter(given.values())) if list(given) == ["name"] else given
    if isinstance(value, str):
        return value
    return json.dumps(list(value) if isinstance(value, tuple) else value, default=str)
