"""Field of text pairs with exact-match features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from regard.data.fields.column import Column, EncodedRows, Ints, Part, concatenate_rows
from regard.data.fields.padding import PaddedArray, PaddingRule, table
from regard.data.fields.tokenizer import Tokenizer
from regard.data.fields.tokens import TokensField

SAME, LOWERED = 2, 1
"""Feature values: the word occurs in the other text, or only in another case."""


def exact_matches(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the exact-match feature of each token of a pair of texts, which are separated by a tab.

    2 means that the piece occurs in the other text, 1 only in another case, 0 not at all. Pieces are compared by their
    spelling in the texts, so out-of-vocabulary words can match, too.

    >>> words = Tokenizer.train(["a dog runs"], kind="words", masked=True)
    >>> exact_matches(words, "A dog runs\\tthe zebu runs , a dog"), words.encode("A dog runs\\tthe zebu runs , a dog")
    ([1, 2, 2, 0, 0, 0, 2, 0, 1, 2], [1, 6, 7, 3, 1, 1, 7, 1, 5, 6])
    """
    first, _, second = text.partition("\t")
    mine, yours = ([one[begin:end] for begin, end in tokenizer.places(one)] for one in (first, second))
    return [*_found(mine, yours), 0, *_found(yours, mine)]


def _found(pieces: Sequence[str], others: Sequence[str]) -> Iterator[int]:
    same, lowered = set(others), {other.lower() for other in others}
    for piece in pieces:
        yield SAME if piece in same else LOWERED if piece.lower() in lowered else 0


@dataclass(frozen=True)
class PairField(TokensField):
    """Field of text pairs in one row: ids [B, T] with `</s>` between the texts, lengths [B], exact matches [B, T].

    >>> words = PairField(Tokenizer.train(["a dog runs"], kind="words", masked=True))
    >>> {part: one.values.tolist() for part, one in words.encode(["A dog\\ta dog"]).items()}
    {'ids': [1, 6, 3, 5, 6], 'matches': [1, 2, 0, 1, 2]}
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*super().parts, Part("matches", "int8"))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        found = [exact_matches(self.learned, value) for value in values]
        return {**super().encode(values), "matches": concatenate_rows(found, "int8")}

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        begins, counts = column.offsets["matches"][examples], column.counts("matches")[examples]
        matches = table(column.values["matches"], begins, counts, pad=0)
        return {
            **super().collate(name, column, examples),
            f"{name}_matches": PaddedArray(matches, PaddingRule(0, (0, 0))),
        }
