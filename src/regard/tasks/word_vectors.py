"""Pretrained word vectors for the embeddings of a model: lookup by field, checks, loading and coverage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from regard.data.batching.corpus import Corpus
from regard.data.fields.tokenizer import Tokenizer
from regard.data.formats.word_vectors import WordVectors
from regard.data.problems import DataError
from regard.recipes.sections import Recipe, VectorsSection
from regard.tasks.task import Task


@dataclass(frozen=True)
class EmbeddedFields:
    """Fields that share one embedding table, initialised from pretrained word vectors.

    Attributes:
        fields: fields embedded by the table; several if they share a vocabulary.
        section: the `vectors` section of the recipe.
        tokenizer: tokenizer of the fields.
        words: module with `table.weight` [V, C]; its `factor`, if it has one, multiplies the table.
    """

    fields: tuple[str, ...]
    section: VectorsSection
    tokenizer: Tokenizer
    words: Any

    @property
    def weight(self) -> nn.Parameter:
        """The embedding table, [V, C]."""
        found: nn.Parameter = self.words.table.weight
        return found

    @property
    def vectors(self) -> WordVectors:
        """The file of word vectors."""
        return WordVectors(Path(self.section.file))


def vector_tables(recipe: Recipe, task: Task, model: nn.Module) -> list[EmbeddedFields]:
    """Return the embedding tables that pretrained vectors initialise, each once.

    Raises:
        ValueError: the recipe specifies vectors, but the model has no such table.
    """
    sections = {field: task.tokenizer_part(recipe, field).vectors for field in task.encoders}
    wanted = {field: section for field, section in sections.items() if section is not None}
    if not wanted:
        return []
    tables, found = task.embeddings(model), dict[int, EmbeddedFields]()
    for field, section in wanted.items():
        tokenizer, words = task.encoders[field], tables.get(field)
        if words is None or not isinstance(tokenizer, Tokenizer):
            continue
        before = found.get(id(words))
        fields = (field,) if before is None else (*before.fields, field)
        found[id(words)] = EmbeddedFields(fields, section, tokenizer, words)
    if not found:
        raise ValueError(
            f"tokenizer.vectors: the model {recipe.model.kind!r} has no table of embeddings that vectors could fill; "
            "leave vectors out"
        )
    return list(found.values())


def freeze_vectors(recipe: Recipe, task: Task, model: nn.Module) -> None:
    """Freeze the embedding tables that the recipe does not fine-tune."""
    for one in vector_tables(recipe, task, model):
        one.weight.requires_grad_(one.section.tuned)


def check_vectors(recipe: Recipe, task: Task, model: nn.Module) -> None:
    """Check that vector files exist and match the embedding width.

    Args:
        recipe: the recipe.
        task: the task with its encoders.
        model: an outline without allocated parameters.

    Raises:
        ValueError: a file is missing, is not a vector file, or has a different width.
    """
    for one in vector_tables(recipe, task, model):
        width, own = one.vectors.width, one.weight.shape[1]
        if width != own:
            raise ValueError(
                f"tokenizer.vectors: {one.section.file} has vectors of width {width}, and the embeddings of "
                f"{_named(one.fields)} have width {own}; set the width of the model's embeddings to {width}"
            )


def check_vector_files(recipe: Recipe) -> None:
    """Check that the vector files of a recipe exist.

    Raises:
        DataError: the first missing file, with the most similar name in its folder.
    """
    parts = {"tokenizer": recipe.tokenizer, "tokenizer.target": recipe.tokenizer.target}
    for key, part in parts.items():
        if part is None or part.vectors is None or Path(part.vectors.file).is_file():
            continue
        path = Path(part.vectors.file)
        names = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        near = get_close_matches(path.name, names, n=1)
        hint = f"did you mean {path.with_name(near[0])}?" if near else f"set {key}.vectors.file=PATH to where it is"
        raise DataError(f"{key}.vectors: there is no file {path}; {hint}")


def load_vectors(recipe: Recipe, task: Task, model: nn.Module, corpus: Corpus | None) -> Iterator[str]:
    """Copy pretrained vectors into the embeddings of a model; yield a message about the coverage of each table.

    A word without a vector falls back to that of its lower-cased form, if there is one.

    Args:
        recipe: contains the `vectors` sections.
        task: the task with its encoders.
        model: the newly initialised model.
        corpus: the training split, for token coverage; None if examples are not encoded.
    """
    for one in vector_tables(recipe, task, model):
        words = one.tokenizer.vocabulary()
        vectors = one.vectors.read({form for word in words for form in (word, word.lower())})
        rows = [
            vectors.get(word, vectors.get(word.lower())) if index >= one.tokenizer.special else None
            for index, word in enumerate(words)
        ]
        known = np.array([row is not None for row in rows])
        _fill(one, rows)
        yield _coverage(one, known, corpus)


@torch.no_grad()
def _fill(one: EmbeddedFields, rows: Sequence[NDArray[np.float32] | None]) -> None:
    factor = getattr(one.words, "factor", 1.0)
    if not one.section.tuned:
        one.weight.zero_()
    known = [index for index, row in enumerate(rows) if row is not None]
    if known:
        vectors = torch.from_numpy(np.stack([row for row in rows if row is not None]))
        one.weight[known] = vectors.to(one.weight) / factor


def _coverage(one: EmbeddedFields, known: NDArray[np.bool_], corpus: Corpus | None) -> str:
    """Return a message with the coverage of the vocabulary and of the training tokens."""
    special = one.tokenizer.special
    count, words = int(known.sum()), len(known) - special
    said = f"{one.section.file}: vectors for {count:,} of {words:,} words of {_named(one.fields)}"
    if corpus is not None:
        ids = np.concatenate([corpus.ids(field) for field in one.fields])
        counts = np.bincount(ids, minlength=len(known))
        said += f" and {counts[known].sum() / max(counts.sum(), 1):.1%} of their tokens in training"
    rest = "begin as the model initialises them" if one.section.tuned else "are zero vectors"
    return f"{said}; they are {'tuned' if one.section.tuned else 'fixed'}, and other words {rest}"


def _named(fields: Sequence[str]) -> str:
    return " and ".join(fields)
