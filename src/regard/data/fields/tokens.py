"""Field of the tokens of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from regard.data.fields.column import Column, EncodedRows, Ints, Part, all_below, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, table
from regard.data.fields.tokenizer import Tokenizer
from regard.specials import PAD

Learner = Callable[[Iterable[Any]], Tokenizer]
"""Function that learns a tokenizer from texts."""


def learn_words(texts: Iterable[Any]) -> Tokenizer:
    """Return a word tokenizer with all words that occur."""
    return Tokenizer.train(texts, kind="words")


@dataclass(frozen=True)
class TokensField(Field[Tokenizer]):
    """Tokens of a text: ids [B, T], and their number per text [B].

    Attributes:
        begin, end: whether to add `<s>` and `</s>` in a batch. A text with `<s>` is predicted token by token: the model
            takes all tokens but the last as input.
        learner: function that learns a tokenizer from texts.

    >>> words = TokensField(Tokenizer.train(["a house"], kind="words"), begin=True, end=True)
    >>> words.encode(["a house", "house"])["ids"]
    EncodedRows(values=array([4, 5, 5], dtype=int32), counts=array([2, 1]), notes=())
    """

    begin: bool = False
    end: bool = False
    learner: Learner = field(default=learn_words, repr=False, compare=False)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"),)

    def learn(self, values: Iterable[Any]) -> Tokenizer:
        return self.learner(values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"ids": concatenate_rows(self.learned.encode_all(values), "int32")}

    def cells(self, column: Column) -> Ints:
        return column.counts("ids") + self.begin + self.end

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids") + self.end

    def fits(self, column: Column) -> bool:
        return self.encoder is None or all_below(column.values["ids"], self.encoder.size)

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        begins = column.offsets["ids"][examples]
        counts = column.offsets["ids"][examples + 1] - begins
        ids = table(column.values["ids"], begins, counts, pad=PAD, first=self.begin, last=self.end)
        lengths = counts + self.begin + self.end
        return {
            name: PaddedArray(ids, PaddingRule(PAD, (0, int(self.begin)))),
            f"{name}_lengths": PaddedArray(lengths, PER_EXAMPLE),
        }
