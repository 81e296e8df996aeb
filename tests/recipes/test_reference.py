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
from regard.recipes import data_sections, sections
from regard.recipes.section import Section
from regard.recipes.sections import Recipe

PAGE = Path(__file__).parents[2] / "docs/training.md"
BEGIN, END = "<!-- reference begins -->\n", "<!-- reference ends -->"
PLACES: dict[str, type[BaseModel]] = {
    "the recipe": Recipe,
    "data, format: dates": data_sections.DatesData,
    "data, format: digits": data_sections.DigitsData,
    "data, format: world": data_sections.WorldData,
    "data, format: endings": data_sections.EndingsData,
    "data, format: glossary": data_sections.GlossaryData,
    "data, format: opinions": data_sections.OpinionsData,
    "data, format: tales": data_sections.TalesData,
    "data, format: pairs": data_sections.PairsData,
    "train, valid and test of pairs": data_sections.PairFiles,
    "data, format: table": data_sections.TableData,
    "data, format: jsonl": data_sections.JsonlData,
    "data, format: hub": data_sections.HubData,
    "data, format: cmudict": data_sections.CmudictData,
    "data, format: text": data_sections.TextData,
    "data, format: labelled": data_sections.LabelledData,
    "data, format: folder": data_sections.FolderData,
    "data, format: columns": data_sections.ColumnsData,
    "data, format: stories": data_sections.StoriesData,
    "data, format: diaries": data_sections.DiariesData,
    "data, format: squad": data_sections.SquadData,
    "data, format: spans": data_sections.SpansData,
    "data, format: communities": data_sections.CommunitiesData,
    "data, format: planetoid": data_sections.PlanetoidData,
    "data, format: graph": data_sections.GraphData,
    "data, format: copy": data_sections.CopyData,
    "data, format: repeat_copy": data_sections.RepeatCopyData,
    "data, format: associative_recall": data_sections.AssociativeRecallData,
    "data, format: ngrams": data_sections.NgramsData,
    "data, format: priority_sort": data_sections.PrioritySortData,
    "data.split": data_sections.SplitSection,
    "tokenizer": sections.TokenizerSection,
    "tokenizer.target": sections.TokenizerPart,
    "train": sections.TrainSection,
    "train.batch": sections.BatchSection,
    "train.optimizer": sections.OptimizerSection,
    "train.schedule": sections.ScheduleSection,
    "train.exposure": sections.ExposureSection,
    "train.exposure.sampling": sections.SamplingSection,
    "train.hard": sections.HardSection,
    "train.masking": sections.MaskingSection,
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
            f"{sign} {value:,}" if isinstance(value, int) else f"{sign} {value:g}"
            for bound in field.metadata
            for attribute, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
            if (value := getattr(bound, attribute, None)) is not None
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
    assert page.split(BEGIN)[1].split(END)[0] == reference(), "run: python -m tests.recipes.test_reference"


def test_every_section_has_its_place() -> None:
    found = {
        model for module in (sections, data_sections) for model in vars(module).values() if isinstance(model, type)
    }
    known = {model for model in found if issubclass(model, Section)}
    shared = {Section, data_sections.Files, data_sections.Divided, data_sections.SplitFiles, data_sections.SpanData}
    assert known - shared == set(PLACES.values())


def test_every_format_of_every_task_has_its_place() -> None:
    formats = {form for forms in data_sections.FORMATS.values() for form in forms}
    assert formats == {place.removeprefix("data, format: ") for place in PLACES if "format" in place}


@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place, model in PLACES.items() for name in model.model_fields],
)
def test_every_key_has_a_sentence(place: str, name: str) -> None:
    assert PLACES[place].model_fields[name].description


def test_decode_has_the_keys_of_a_search_and_those_of_answers() -> None:
    searched = [field.name for field in dataclasses.fields(Search)]
    assert list(sections.DecodeSection.model_fields) == [*searched, "unknown", "dictionary", "memory"]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.split(BEGIN)[0] + BEGIN + reference() + END + text.split(END)[1], encoding="utf-8")
