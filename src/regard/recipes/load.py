"""From a name or a file to a checked recipe."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from regard.recipes.document import Document, Where
from regard.recipes.files import find_files
from regard.recipes.model_sections import KINDS
from regard.recipes.problem import RecipeError
from regard.recipes.sections import Recipe
from regard.recipes.suited import (
    suited_data,
    suited_evaluation,
    suited_search,
    suited_tokenizer,
    suited_training,
)


class Loaded(NamedTuple):
    """A recipe and the document it came from."""

    recipe: Recipe
    document: Document


def shipped() -> dict[str, Path]:
    """The recipes that come with the package, by name."""
    folder = Path(str(resources.files("regard.recipes")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def load(name: str, overrides: list[str] | None = None) -> Loaded:
    """Read and check a recipe that is to be trained: the files it learns from must be there.

    Args:
        name: one that ships (`dates`), or a path to a YAML file.
        overrides: assignments such as `train.steps=500`.

    Raises:
        RecipeError: what is wrong, where it stands, and what would be right.

    >>> load("dates", ["train.steps=7"]).recipe.train.steps
    7
    """
    path = shipped().get(name) or Path(name)
    if not path.exists():
        near = get_close_matches(name, shipped(), n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; recipes that ship: {', '.join(shipped())}"
        raise RecipeError(f"there is no recipe {name!r}, and no such file{hint}")
    return check(Document.read(path).overridden(overrides or []), files=True)


def check(document: Document, *, files: bool = False) -> Loaded:
    """Check a document against the schema; the first thing that is wrong is the error.

    The model is made last, which needs PyTorch, whose import takes longer than everything else here; what can be wrong
    with it is, but for mistakes of ours, found before.

    Args:
        document: what was written.
        files: whether the files of the data must be there; a run that was trained may have outlived them.
    """
    _suited_kind(document)
    try:
        recipe = Recipe.model_validate(document.content)
    except ValidationError as problem:
        raise RecipeError(_sentence(problem, document)) from None
    _attempt("data", suited_data, recipe, document)
    _attempt("tokenizer", suited_tokenizer, recipe, document)
    _attempt("train", suited_training, recipe, document)
    _attempt("decode", suited_search, recipe, document)
    _attempt("evaluate", suited_evaluation, recipe, document)
    if files:
        find_files(recipe.data, document)
        find_files(recipe.decode, document, section="decode")
    _attempt("model", _make_model, recipe, document)
    return Loaded(recipe, document)


def _suited_kind(document: Document) -> None:
    """The model is one that the task is learned by; this comes first, since all its other keys depend on it."""
    task, model = document.content.get("task", "translate"), document.content.get("model")
    kinds = KINDS.get(str(task), ())
    if kinds and isinstance(model, dict) and (kind := model.get("kind")) not in kinds:
        near = get_close_matches(str(kind), kinds, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        place = document.place(("model", "kind"))
        raise RecipeError(f"{place}: model.kind is {kind!r}: {hint}of the task {task} it can be {', '.join(kinds)}")


def _attempt(section: str, make: Callable[[Recipe], None], recipe: Recipe, document: Document) -> None:
    """Make what a section describes; what is wrong with it is said with its line."""
    try:
        make(recipe)
    except (ValueError, TypeError) as problem:
        sentence = str(problem).removeprefix(f"{section}: ")
        place = document.place(_guilty((section,), sentence, document))
        raise RecipeError(f"{place}: {section}: {sentence}") from None


def _guilty(section: Where, sentence: str, document: Document) -> Where:
    """What in a section a sentence is about: a key that it quotes, else a value, else a key that it mentions."""
    found: list[tuple[int, int, Where]] = []

    def walk(value: Any, where: Where) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, part in items:
            for rank, pattern in enumerate((f"'{key}'", f"'{part}'", rf"\b{key}\b")):
                named = re.search(pattern if rank == 2 else re.escape(pattern), sentence)
                if named and isinstance(key if rank != 1 else part, str):
                    found.append((rank, named.start(), (*where, key)))
            walk(part, (*where, key))

    content: Any = document.content
    for key in section:
        content = content[key]
    walk(content, section)
    return min(found)[2] if found else section


def _make_model(recipe: Recipe) -> None:
    """Make the model once with a few words and no memory: what no rule of the sections knows shows here."""
    import torch

    from regard.models.build import build

    says_what_it_reads = recipe.task in ("language_model", "masked_language_model", "spans")
    with torch.device("meta"):
        build(recipe.model.kind, 8, None if says_what_it_reads else 8, **recipe.model.arguments())


def _sentence(problem: ValidationError, document: Document) -> str:
    error = problem.errors()[0]
    where, models = _resolved(error["loc"])
    given, expected = error["input"], error.get("ctx", {}).get("expected", "")
    if error["type"].startswith("union_tag"):  # a format, kind or name: pydantic blames the whole section
        tag = error["ctx"]["discriminator"].strip("'")
        where = (*where, tag)
        expected = str([choice for model in models for choice in _tags(model)])
        given = given.get(tag) if isinstance(given, dict) else given
    where = _written(where, document)
    key, place = ".".join(map(str, where)), document.place(where)
    if error["type"] == "extra_forbidden":
        valid = list(models[0].model_fields)
        near = get_close_matches(str(where[-1]), valid, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(valid)}"
        return f"{place}: there is no key {key!r}; {hint}"
    if error["type"] == "missing":
        return f"{document.place(where[:-1])}: the key {key!r} is missing"
    if choices := re.findall("'(.*?)'", expected):
        near = get_close_matches(str(given), choices, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        return f"{place}: {key} is {given!r}: {hint}it can be {', '.join(choices)}"
    message = error["msg"].removeprefix("Value error, ").replace("tuple", "list")  # as YAML calls it
    message = f"{message[:1].lower()}{message[1:]}"
    if isinstance(given, dict):  # what its keys hold together is wrong
        return f"{document.place(_guilty(where, message, document))}: {key}: {message}"
    return f"{place}: {key} is {given!r}: {message}"


def _written(where: Where, document: Document) -> Where:
    """As far as the document goes: `attention: dot` is said of `attention`, though it means `attention.score.name`."""
    content: Any = document.content
    for length, key in enumerate(where):
        if not isinstance(content, dict | list):
            return where[:length]
        if isinstance(content, dict):
            content = content.get(str(key), {})
        else:
            content = content[key] if isinstance(key, int) and key < len(content) else {}
    return where


def _resolved(location: tuple[str | int, ...]) -> tuple[Where, list[type[BaseModel]]]:
    """pydantic's location without the tags of unions, and the sections that can stand at its end."""
    where: list[str | int] = []
    models: list[type[BaseModel]] = [Recipe]
    for part in location:
        fields = models[0].model_fields if len(models) == 1 else {}
        if isinstance(part, int):
            where.append(part)
        elif part in fields:
            where.append(part)
            models = _models(fields[str(part)])
        elif len(models) > 1:  # the tag of a union
            models = [model for model in models if part in _tags(model)]
        elif models:  # a key that there is none of
            where.append(part)
            break
    return tuple(where), models


def _models(field: FieldInfo) -> list[type[BaseModel]]:
    """The sections that a key may hold."""
    found: list[type[BaseModel]] = []

    def walk(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found.append(annotation)
        for part in typing.get_args(annotation):
            walk(part)

    walk(field.annotation)
    return found


def _tags(model: type[BaseModel]) -> tuple[str, ...]:
    """What tells a section of a union from the others."""
    names = (name for name in ("format", "kind", "name") if name in model.model_fields)
    return typing.get_args(model.model_fields[next(names)].annotation)
