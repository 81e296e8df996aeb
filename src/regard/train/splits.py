"""The data of a recipe: examples, tokenizers, and corpora of ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal

from regard.data import Corpus, Dates, Digits, Examples, Jsonl, Pairs, Table, Tokenizer
from regard.data.date_formats import LANGUAGES
from regard.recipes.sections import (
    DatesData,
    DigitsData,
    Files,
    JsonlData,
    PairsData,
    Recipe,
    TableData,
    TokenizerPart,
)

Name = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Split:
    """One split: its examples as text, and as ids."""

    examples: Examples
    corpus: Corpus

    def texts(self, field: str) -> list[str]:
        """All texts of a field, in the order of the corpus."""
        return [str(example.fields[field]) for example in self.examples]


def examples(recipe: Recipe, name: Name) -> Examples | None:
    """The examples of a split; None if the recipe names none."""
    data = recipe.data
    if isinstance(data, DatesData):
        size = getattr(data, f"{name}_size")
        return Dates(name, size=size, seed=data.seed, languages=tuple(data.languages or LANGUAGES))
    if isinstance(data, DigitsData):
        return Digits(data.task, name, size=getattr(data, f"{name}_size"), longest=data.longest, seed=data.seed)
    return _reader(data, name)


def _reader(data: Files, name: Name) -> Examples | None:
    given = getattr(data, name)
    if given is None:
        return None
    root = data.root or Path()
    if isinstance(data, PairsData):
        return Pairs(root / given.source, root / given.target, encoding=data.encoding, bad_lines=data.bad_lines)
    if isinstance(data, TableData):
        columns = {"source": data.source, "target": data.target}
        delimiter = {"tab": "\t", "comma": ","}[data.delimiter]
        return Table(
            root / given,
            columns,
            header=data.header,
            delimiter=delimiter,
            encoding=data.encoding,
            bad_lines=data.bad_lines,
        )
    assert isinstance(data, JsonlData)
    keys = {"source": data.source, "target": data.target}
    return Jsonl(root / given, keys, encoding=data.encoding, bad_lines=data.bad_lines)


def tokenizers(recipe: Recipe, train: Examples) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizers of source and target, learned from the training split."""
    section = recipe.tokenizer

    def texts(field: str) -> Iterator[str]:
        return (str(example.fields[field]) for example in train)

    if section.joint:
        joint = _learned(section, chain(texts("source"), texts("target")))
        return joint, joint
    return _learned(section, texts("source")), _learned(section.target or section, texts("target"))


def _learned(part: TokenizerPart, texts: Iterator[str]) -> Tokenizer:
    return Tokenizer.train(
        texts,
        kind=part.kind,
        size=part.size,
        min_frequency=part.min_frequency,
        lowercase=part.lowercase,
        normalise=part.normalise,
    )


def prepared(recipe: Recipe, name: Name, source: Tokenizer, target: Tokenizer, cache: Path) -> Split | None:
    """A split encoded, from the cache if it is there."""
    found = examples(recipe, name)
    if found is None:
        return None
    return Split(found, Corpus.build(found, {"source": source, "target": target}, cache))
