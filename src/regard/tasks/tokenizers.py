"""Tokenizers of a recipe: learned from its training split or loaded from a file, and the text settings of fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from regard.data.example import Examples, Value
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokenizer_import import import_tokenizer
from regard.data.fields.tokens import TokensField
from regard.data.formats.word_vectors import WordVectors
from regard.recipes.checks import has_learned_positions
from regard.recipes.data_sections import TextData
from regard.recipes.sections import Recipe, TokenizerPart
from regard.specials import FRAME


def learned_tokenizer(part: TokenizerPart, texts: Iterable[Value], *, masked: bool = False) -> Tokenizer:
    """Return a tokenizer, learned from texts or loaded from its file.

    Args:
        part: the tokenizer settings.
        texts: texts of one field, or of several with a shared vocabulary.
        masked: add a mask token to the vocabulary, as in BERT.
    """
    if part.kind == "file":
        assert part.path is not None
        return import_tokenizer(part.path, masked=masked)
    return Tokenizer.train(
        iter(texts),
        kind=part.kind,
        split=part.split if part.kind == "words" else None,
        size=part.size,
        min_frequency=part.min_frequency,
        lowercase=part.lowercase,
        normalise=part.normalise,
        masked=masked,
        more=() if part.vectors is None or not part.vectors.unseen else WordVectors(Path(part.vectors.file)).words(),
    )


def tokens_field(part: TokenizerPart, *, masked: bool = False, begin: bool = False, end: bool = False) -> TokensField:
    """Return the field type of tokenized texts.

    Args:
        part: the tokenizer settings.
        masked: add a mask token to the vocabulary.
        begin, end: add BOS or EOS to each text of a batch.
    """
    return TokensField(begin=begin, end=end, learner=partial(learned_tokenizer, part, masked=masked))


def field_values(train: Examples, field: str) -> Iterator[Value]:
    """Yield the value of a field for each example."""
    return (example.fields[field] for example in train)


def ends_texts(recipe: Recipe) -> bool:
    """Return True if each text of a stream ends with EOS; not needed if line ends are characters of the text."""
    return not (isinstance(recipe.data, TextData) and recipe.data.ends)


def learned_positions(recipe: Recipe) -> int | None:
    """Return the number of learned positions of a text, without special tokens; None if unlimited."""
    inner: Any = getattr(recipe.model, "model", recipe.model)
    parts: tuple[Any, ...] = (inner, getattr(inner, "encoder", None))
    return min((part.max_length - FRAME for part in parts if has_learned_positions(part)), default=None)
