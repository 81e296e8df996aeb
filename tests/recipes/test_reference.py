"""The reference of recipes in docs/training.md is what the code says."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.decode.search import Search
from regard.recipes import sections
from regard.recipes.sections import Recipe

PAGE = Path(__file__).parents[2] / "docs/training.md"
BEGIN, END = "<!-- reference begins -->\n", "<!-- reference ends -->"
PLACES: dict[str, type[BaseModel]] = {
    "the recipe": Recipe,
    "data, format: dates": sections.DatesData,
    "data, format: digits": sections.DigitsData,
    "data, format: pairs": sections.PairsData,
    "train, valid and test of pairs": sections.PairFiles,
    "data, format: table": sections.TableData,
    "data, format: jsonl": sections.JsonlData,
    "tokenizer": sections.TokenizerSection,
    "tokenizer.target": sections.TokenizerPart,
    "train": sections.TrainSection,
    "train.batch": sections.BatchSection,
    "train.optimizer": sections.OptimizerSection,
    "train.schedule": sections.ScheduleSection,
    "train.exposure": sections.ExposureSection,
    "train.exposure.sampling": sections.SamplingSection,
    "decode": sections.DecodeSection,
    "evaluate": sections.EvaluateSection,
}
WORDS = {int: "whole number", float: "number", str: "text", bool: "true or false", Path: "folder", type(None): "null"}


def kind(annotation: Any) -> str:
    """A type, in words."""
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin is typing.Annotated:
        return kind(parts[0])
    if origin in (list, tuple):
        return f"list of {kind(parts[0])}"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(kind(part) for part in parts))
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return "mapping"
    return WORDS[annotation]


def default(field: FieldInfo) -> str:
    value = field.default
    if field.default_factory is not None or isinstance(value, BaseModel):
        return "see there"
    if value is PydanticUndefined:
        return "**needed**"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def table(place: str, model: type[BaseModel]) -> str:
    """The keys of a section."""
    lines = [f"### {place}", "", (model.__doc__ or "").strip(), "", "| key | what | default | |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        bounds = [
            f"{sign} {getattr(bound, attribute):g}"
            for bound in field.metadata
            for attribute, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
            if hasattr(bound, attribute)
        ]
        what = " ".join([kind(field.annotation), *bounds])
        meaning = " ".join((field.description or "").split()).replace("None", "null")
        lines.append(f"| `{name}` | {what} | {default(field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def reference() -> str:
    """All of it."""
    return "\n".join(table(place, model) for place, model in PLACES.items())


def test_the_page_holds_the_reference() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == reference()


def test_every_section_has_its_place() -> None:
    known = {
        model for model in vars(sections).values() if isinstance(model, type) and issubclass(model, sections.Section)
    }
    assert known - {sections.Section, sections.Files} == set(PLACES.values())


@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place, model in PLACES.items() for name in model.model_fields if place != "decode"],
)
def test_every_key_has_a_sentence(place: str, name: str) -> None:
    assert PLACES[place].model_fields[name].description


def test_decode_has_the_keys_of_a_search() -> None:
    assert list(sections.DecodeSection.model_fields) == [field.name for field in dataclasses.fields(Search)]
