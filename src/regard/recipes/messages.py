"""Messages about invalid recipes: the key, its line, and the nearest valid name."""

from __future__ import annotations

import re
import typing
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from regard.data.problems import shortened
from regard.nearest import nearest
from regard.recipes.argument_sections import OneOf
from regard.recipes.plugin_sections import PluginUnion
from regard.recipes.yaml_document import RecipeDocument, Where

_QUOTED, _LONGEST = 200, 600  # maximum characters of a value and of its error


def sentence_of(problem: ValidationError, document: RecipeDocument, schema: type[BaseModel]) -> str:
    """Return a message about the first error that pydantic found in a document."""
    error = problem.errors()[0]
    where, candidates = _resolved(error["loc"], schema)
    given, expected = error["input"], error.get("ctx", {}).get("expected", "")
    if error["type"].startswith("union_tag"):  # an unknown format, kind or name: pydantic reports the whole section
        tag = error["ctx"]["discriminator"].strip("'")
        where = (*where, tag)
        expected = str([choice for one in candidates for choice in _tags(one)])
        given = given.get(tag) if isinstance(given, dict) else given
    full, where = where, _written(where, document)
    key, place = shortened(".".join(map(str, where)), _QUOTED), document.place(where)
    if error["type"] == "extra_forbidden":
        valid = list(_single(candidates).model_fields)
        near = nearest(str(where[-1]), valid)
        hint = f"did you mean {near}?" if near else f"there are: {', '.join(valid)}"
        return f"{place}: there is no key {key!r}; {hint}"
    if error["type"] == "missing" and isinstance(error["loc"][-1], int):
        return f"{place}: {'.'.join(map(str, where[:-1]))} has too few entries"
    if error["type"] == "missing":
        return f"{document.place(full[:-1])}: the key {'.'.join(map(str, full))!r} is missing"
    if choices := re.findall("'(.*?)'", expected):
        near = nearest(given, choices) if isinstance(given, str) else None
        hint = f"did you mean {near}? " if near else ""
        return f"{place}: {key} is {_quoted(given)}: {hint}it can be {', '.join(choices)}"
    if error["type"] in ("model_type", "model_attributes_type"):
        several = len(candidates) > 1 or isinstance(candidates[0], OneOf)
        keys = f"{_tag(candidates[0])} and its arguments" if several else ", ".join(_single(candidates).model_fields)
        return f"{place}: {key} is {_quoted(given)}: it should be a mapping of {keys}"
    if error["type"] == "path_type":
        advice = "it should be a path; put a name that reads as something else in quotes"
        return f"{place}: {key} is {_quoted(given)}: {advice}"
    message = error["msg"].removeprefix("Value error, ")
    message = f"{message[:1].lower()}{message[1:]}".replace("tuple", "list")  # the term of YAML
    message = shortened(message, _LONGEST)
    if isinstance(given, dict):  # its keys are incompatible with each other
        return f"{document.place(key_of_message(where, message, document))}: {key}: {message}"
    return f"{place}: {key} is {_quoted(given)}: {message}"


def _quoted(value: object) -> str:
    """Return the Python literal of a value, truncated if it is long."""
    return shortened(repr(value), _QUOTED)


def key_of_message(section: Where, sentence: str, document: RecipeDocument) -> Where:
    """Return the key that a message about a section refers to: by quotes, by its value, or by its name.

    Among several keys that match equally well, the order is: set on the command line, least nested, first in the
    message.
    """
    found: list[tuple[int, bool, int, int, Where]] = []

    def walk(value: Any, where: Where) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in items:
            for rank, pattern in enumerate((f"'{key}'", f"'{part}'", rf"\b{re.escape(str(key))}\b")):
                named = re.search(pattern if rank == 2 else re.escape(pattern), sentence)
                if named and isinstance(key if rank != 1 else part, str):
                    place = (*where, key)
                    found.append((rank, place not in document.assigned, len(place), named.start(), place))
            walk(part, (*where, key))

    content: Any = document.content
    for key in section:
        content = content.get(str(key), {}) if isinstance(content, dict) else {}
    walk(content, section)
    return min(found)[-1] if found else section


def _written(where: Where, document: RecipeDocument) -> Where:
    """Shorten a path to keys in the document: `attention.score.name` to `attention` for `attention: dot`."""
    content: Any = document.content
    for length, key in enumerate(where):
        if not isinstance(content, dict | list):
            return where[:length]
        if isinstance(content, dict):
            content = content.get(str(key), {})
        else:
            content = content[key] if isinstance(key, int) and key < len(content) else {}
    return where


Candidate = type[BaseModel] | OneOf
"""Section type that a key may hold, or a union whose sections are derived on demand."""


def _resolved(location: tuple[str | int, ...], schema: type[BaseModel]) -> tuple[Where, list[Candidate]]:
    """Return pydantic's location without the tags of unions, and the section types possible there."""
    where: list[str | int] = []
    candidates: list[Candidate] = [schema]
    for part in location:
        first = candidates[0] if len(candidates) == 1 else None
        fields = {} if first is None or isinstance(first, OneOf) else first.model_fields
        if isinstance(part, int):
            where.append(part)
        elif part.startswith("["):  # the tag of a union's branch, which is not in the document
            candidates = [
                one for one in candidates if (part == "[several]") == ("weight" in _single([one]).model_fields)
            ]
        elif part in fields:
            where.append(part)
            candidates = candidates_of(fields[part])
        elif len(candidates) > 1 or isinstance(first, OneOf):  # the tag of a union
            chosen = [one for one in candidates if part in _tags(one)]
            candidates = [one.section(part) if isinstance(one, OneOf) else one for one in chosen]
        elif candidates:  # an unknown key
            where.append(part)
            break
    return tuple(where), candidates


def _single(candidates: list[Candidate]) -> type[BaseModel]:
    """Return the only possible section type."""
    first = candidates[0]
    assert not isinstance(first, OneOf)
    return first


def candidates_of(field: FieldInfo) -> list[Candidate]:
    """Return the section types that a key may hold."""
    found: list[Candidate] = []

    def walk(annotation: Any) -> None:
        if isinstance(annotation, OneOf):
            found.append(annotation)
        if isinstance(annotation, PluginUnion):
            found.extend(annotation.sections().values())
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        for part in typing.get_args(annotation):
            walk(part)

    for annotation in (field.annotation, *field.metadata):
        walk(annotation)
    return found


def _tags(one: Candidate) -> tuple[str, ...]:
    """Return the discriminator values of a section in a union."""
    return one.names if isinstance(one, OneOf) else typing.get_args(one.model_fields[_tag(one)].annotation)


def _tag(one: Candidate) -> str:
    if isinstance(one, OneOf):
        return one.tag
    return next(name for name in ("format", "kind", "name") if name in one.model_fields)
