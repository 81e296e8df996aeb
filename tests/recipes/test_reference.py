"""The reference of recipes in docs/training.md is what the code says."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import json
import textwrap
import types
import typing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from regard.decode.search import Search
from regard.recipes import (
    attention_section,
    data_sections,
    encoder_sections,
    model_sections,
    sections,
    translator_sections,
)
from regard.recipes.section import Model, Section
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
    "data, format: reviews": data_sections.ReviewsData,
    "data, format: tales": data_sections.TalesData,
    "data, format: pairs": data_sections.PairsData,
    "one of several files of train": data_sections.WeightedFile,
    "train, valid and test of pairs": data_sections.PairFiles,
    "one of several pairs of train": data_sections.WeightedPair,
    "data, format: table": data_sections.TableData,
    "data, format: jsonl": data_sections.JsonlData,
    "data, format: hub": data_sections.HubData,
    "data, format: cmudict": data_sections.CmudictData,
    "data, format: text": data_sections.TextData,
    "data, format: labelled": data_sections.LabelledData,
    "data, format: folder": data_sections.FolderData,
    "data, format: columns": data_sections.ColumnsData,
    "data, format: conllu": data_sections.ConlluData,
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
    "model, kind: bahdanau": model_sections.BahdanauSection,
    "model, kind: luong": model_sections.LuongSection,
    "model, kind: simple_attention": model_sections.SimpleAttentionSection,
    "model, kind: seq2seq": model_sections.Seq2SeqSection,
    "model, kind: lstmn": model_sections.LSTMNSection,
    "model, kind: transformer": model_sections.TransformerSection,
    "model, kind: bidirectional": model_sections.BidirectionalSection,
    "model, kind: language_model": model_sections.LanguageModelSection,
    "model, kind: pointer_lm": model_sections.PointerLMSection,
    "model, kind: lstmn_lm": model_sections.LSTMNLMSection,
    "model, kind: char_rnn": model_sections.CharRNNSection,
    "model, kind: transformer_lm": model_sections.TransformerLMSection,
    "model, kind: bert": model_sections.BertSection,
    "model, kind: acceptor": model_sections.AcceptorSection,
    "model, kind: transducer": model_sections.TransducerSection,
    "model, kind: span_reader": model_sections.SpanReaderSection,
    "model, kind: memory_network": model_sections.MemoryNetworkSection,
    "model, kind: memory_transformer": model_sections.MemoryTransformerSection,
    "model, kind: ntm": model_sections.NTMSection,
    "model, kind: rnn": model_sections.VectorRNNSection,
    "model, kind: gat": model_sections.GATSection,
    "model.encoder, kind: rnn": encoder_sections.RNNEncoderSection,
    "model.encoder, kind: lstmn": encoder_sections.LSTMNEncoderSection,
    "model.encoder, kind: transformer": encoder_sections.TransformerEncoderSection,
    "model.encoder, kind: bert": encoder_sections.BertEncoderSection,
    "model.encoder.characters": encoder_sections.CharactersSection,
    "model.cells": encoder_sections.CellsSection,
    "model.attention": attention_section.AttentionSection,
    "model.attention of char_rnn": attention_section.PastSection,
    "score, name: additive": attention_section.AdditiveSection,
    "score, name: bilinear, general": attention_section.BilinearSection,
    "score, name: concat": attention_section.ConcatSection,
    "score, name: cosine": attention_section.CosineSection,
    "score, name: dot, scaled_dot": attention_section.DotSection,
    "score, name: location": attention_section.LocationSection,
    "align, name: softmax, linear": attention_section.SoftmaxSection,
    "align, name: local_m": attention_section.LocalMSection,
    "align, name: local_p": attention_section.LocalPSection,
    "align, name: hard": attention_section.HardAlignSection,
    "terms, name: position": attention_section.PositionSection,
    "terms, name: markov, fertility": attention_section.ReachSection,
    "terms, name: location": attention_section.LocationTermSection,
    "terms, name: history": attention_section.HistorySection,
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
TAGS = ("format", "kind", "name")
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


def _inner(annotation: Any) -> list[Any]:
    """The bounds of what may also be null."""
    if typing.get_origin(annotation) is typing.Annotated:
        return [bound for entry in typing.get_args(annotation)[1:] for bound in getattr(entry, "metadata", ())]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return [bound for part in typing.get_args(annotation) for bound in _inner(part)]
    return []


def default(field: FieldInfo) -> str:
    value = field.default
    if field.default_factory is not None or isinstance(value, BaseModel):
        return "see there"
    if value is PydanticUndefined:
        return "**needed**"
    if value == ():
        return "`[]`"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def sentences(model: type[BaseModel]) -> dict[str, str]:
    """The string below each key in the source of a section and of those it derives from.

    pydantic can read them too, but then does so at every start of the program.
    """
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if not issubclass(owner, Section) or model is sections.DecodeSection:
            continue
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        assert isinstance(made, ast.ClassDef)
        for key, below in itertools.pairwise(made.body):
            if isinstance(key, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(key.target, ast.Name):
                found[key.target.id] = inspect.cleandoc(str(ast.literal_eval(below.value)))
    return found | {name: field.description for name, field in model.model_fields.items() if field.description}


def table(place: str, model: type[BaseModel]) -> str:
    """The keys of a section."""
    lines = [f"### {place}", "", (model.__doc__ or "").strip(), "", "| key | what | default | |", "|---|---|---|---|"]
    for name, field in sorted(model.model_fields.items(), key=lambda named: named[0] not in TAGS):
        bounds = [
            f"{sign} {value:,}" if isinstance(value, int) else f"{sign} {value:g}"
            for bound in (*field.metadata, *_inner(field.annotation))
            for attribute, sign in (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
            if (value := getattr(bound, attribute, None)) is not None and value < 2**24
        ]
        what = " ".join([kind(field.annotation), *bounds])
        meaning = " ".join(sentences(model).get(name, "").split()).replace("None", "null")
        lines.append(f"| `{name}` | {what} | {default(field)} | {meaning} |")
    return "\n".join(lines) + "\n"


def reference() -> str:
    """All of it."""
    return "\n".join(table(place, model) for place, model in PLACES.items())


def test_the_page_holds_the_reference() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == reference(), "run: python -m tests.recipes.test_reference"


def test_every_section_has_its_place() -> None:
    modules = (sections, data_sections, attention_section, encoder_sections, model_sections, translator_sections)
    found = {model for module in modules for model in vars(module).values() if isinstance(model, type)}
    known = {model for model in found if issubclass(model, Section)}
    shared = {Section, data_sections.Files, data_sections.Divided, data_sections.SplitFiles, data_sections.SpanData}
    shared |= {data_sections.TargetData}
    shared |= {encoder_sections.BlocksSection, encoder_sections.PlacedSection}
    shared |= {Model, translator_sections.RNNSection}
    assert known - shared == set(PLACES.values())


def test_every_format_of_every_task_has_its_place() -> None:
    formats = {form for forms in data_sections.FORMATS.values() for form in forms}
    assert formats == {place.removeprefix("data, format: ") for place in PLACES if "format" in place}


@pytest.mark.parametrize(
    ("place", "name"),
    [(place, name) for place, model in PLACES.items() for name in model.model_fields],
)
def test_every_key_has_a_sentence(place: str, name: str) -> None:
    assert sentences(PLACES[place])[name]


def test_decode_has_the_keys_of_a_search_and_those_of_answers() -> None:
    searched = [field.name for field in dataclasses.fields(Search)]
    assert list(sections.DecodeSection.model_fields) == [
        *searched,
        "unknown",
        "dictionary",
        "generate_unknown",
        "threshold",
        "max_text",
        "memory",
    ]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(text.split(BEGIN)[0] + BEGIN + reference() + END + text.split(END)[1], encoding="utf-8")
