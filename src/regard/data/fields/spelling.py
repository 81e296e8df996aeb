"""Letters of the words of a text."""

from __future__ import annotations

from dataclasses import dataclass

from regard.data.fields.column import Column, Ints
from regard.data.fields.story import StoryField


@dataclass(frozen=True)
class SpellingField(StoryField):
    """Letters of words: ids [B, W, L], and the number of words per text [B]; they come beside the words themselves.

    >>> from regard.data.tokenizer import Tokenizer
    >>> letters = SpellingField(Tokenizer.train(["abc"], kind="characters"))
    >>> letters.encode([["ab", "c"]])["ids"].values                       # an end behind each word
    array([4, 5, 3, 6, 3], dtype=int32)
    """

    def cells(self, column: Column) -> Ints | None:
        """Return None: the words themselves already count."""
        return None
