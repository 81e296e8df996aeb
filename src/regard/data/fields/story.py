"""Field of the tokens of a text by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part, all_below, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, nested
from regard.data.fields.sentences import encoded_sentences
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import Learner, learn_words
from regard.specials import EOS, PAD


@dataclass(frozen=True)
class StoryField(Field[Tokenizer]):
    """Sentences of a text: ids [B, N, J], and the number of sentences per text [B].

    A text is stored as one row, with `</s>` after each sentence.

    Attributes:
        learner: function that learns a tokenizer from texts.
    """

    learner: Learner = field(default=learn_words, repr=False, compare=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"),)

    def learn(self, values: Iterable[Any]) -> Tokenizer:
        return self.learner(values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"ids": concatenate_rows(encoded_sentences(values, self.learned.encode_all), "int32")}

    def cells(self, column: Column) -> Ints | None:
        return column.counts("ids")

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids")

    def sentences(self, column: Column) -> Ints:
        """Return the number of sentences of each example, [N]."""
        ends = np.concatenate(([0], np.cumsum(column.values["ids"] == EOS)))
        found: Ints = np.diff(ends[column.offsets["ids"]])
        return found

    def fits(self, column: Column) -> bool:
        return self.encoder is None or all_below(column.values["ids"], self.encoder.size)

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        words, counts = nested(column.rows("ids", examples))
        return {
            name: PaddedArray(words, PaddingRule(PAD, (0, 0, 0))),
            f"{name}_lengths": PaddedArray(counts, PER_EXAMPLE),
        }
