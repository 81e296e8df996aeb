"""Baselines of language models: n-gram models over the tokens of a recipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from regard.data.fields.tokenizer import Tokenizer
from regard.recipes.sections import Recipe
from regard.specials import EOS
from regard.systems.language_model.kneser_ney import Ints, KneserNey
from regard.systems.language_model.task import LanguageModelling
from regard.tasks.splits import examples
from regard.tasks.tokenizers import ends_texts, field_values

WORDS, CHARACTERS = (1, 3, 5), (1, 5, 9)
"""Lengths of n-grams of words or pieces, and of characters."""


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield Kneser-Ney n-gram models with their perplexity on the test split, or on valid if there is no test."""
    train = examples(recipe, "train")
    measured = examples(recipe, "test") or examples(recipe, "valid")
    assert train is not None
    assert measured is not None
    tokenizer = LanguageModelling.learn_encoders(recipe, train, {})["text"]
    assert isinstance(tokenizer, Tokenizer)
    ends = ends_texts(recipe)
    known, asked = (_ids(tokenizer, map(str, field_values(part, "text")), ends=ends) for part in (train, measured))
    for order in CHARACTERS if tokenizer.kind == "characters" else WORDS:
        model = KneserNey(known, size=tokenizer.size, order=order)
        yield f"{order}-grams, Kneser-Ney", {"perplexity": model.perplexity(asked)}


def _ids(tokenizer: Tokenizer, texts: Iterable[str], *, ends: bool) -> list[Ints]:
    return [np.array([*row, *[EOS] * ends], np.int64) for row in tokenizer.encode_all(list(texts))]
