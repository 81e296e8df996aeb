"""Field of word features, such as parts of speech."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from regard.data.fields.column import Column, Ints
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import Learner, TokensField

FEATURES = "features"
"""Name of the field with one feature per word of "text"."""


def learn_features(texts: Iterable[Sequence[str]]) -> Tokenizer:
    """Return a vocabulary of all values that occur in training; other values become `<unk>`."""
    return Tokenizer.train(texts, kind="words", split="whitespace")


@dataclass(frozen=True)
class FeaturesField(TokensField):
    """One value per word: ids [B, W], and their number per text [B]; used in addition to the words themselves.

    >>> tags = FeaturesField(learn_features([["DT", "NN"]]))
    >>> tags.encode([["NN", "VB"]])["ids"].values
    array([5, 1], dtype=int32)
    """

    learner: Learner = field(default=learn_features, repr=False, compare=False)

    def cells(self, column: Column) -> Ints | None:  # type: ignore[override]  # the words themselves already count
        """Return None: the words themselves already count."""
        return None
