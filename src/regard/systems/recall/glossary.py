"""A generated glossary of invented words, each defined in exactly one entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from regard.data.batching.order import permutation, splitmix64
from regard.data.example import Example
from regard.data.generated import Generated, adjectives
from regard.data.hash_split import Part
from regard.data.problems import DataError

_LOOKS = ("big", "black", "blue", "broken", "cold", "cheap", "green", "grey", "heavy", "light", "long", "new", "old")
_THINGS = ("bell", "boat", "bread", "chair", "clock", "coat", "door", "drum", "fish", "flag", "fork", "glass", "hat")
_MOST = 4900


@dataclass(frozen=True)
class Glossary(Generated):
    """Invented words, each with the entry that defines it: "duma green clock".

    The meaning of a word is drawn anew for each example, so a model cannot memorise it and has to look it up. Fields
    "source" (the word), "fact" (the entry) and "target" (the meaning). Each block of
    `words` examples uses every word once, so the entries of a split with at most `words` examples do not contradict
    each other. No entry occurs in two splits.

    Args:
        split: "train" (80% of all entries), "valid" or "test" (10% each).
        size: number of examples.
        words: number of invented words.
        seed: random seed of the meanings; it does not change the words.

    >>> for example in Glossary(size=2):
    ...     print(example.fields)
    {'fact': 'taro black hat', 'source': 'taro', 'target': 'black hat'}
    {'fact': 'vama long clock', 'source': 'vama', 'target': 'long clock'}
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    words: int = field(default=1000, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.words <= _MOST:
            raise DataError(f"there are 1 to {_MOST} invented words, not {self.words}")

    def example(self, index: int) -> Example:
        again, place = divmod(index, self.words)
        word = adjectives()[_order(self.words, self.seed, again)[place]]
        attempt = 0
        while True:
            look, thing = splitmix64(np.arange(2, dtype=np.uint64), self.seed, index, attempt).tolist()
            meaning = f"{_LOOKS[look % len(_LOOKS)]} {_THINGS[thing % len(_THINGS)]}"
            fact = f"{word} {meaning}"
            if self.is_here(fact):
                fields = {"fact": fact, "source": word, "target": meaning}
                return Example(dict(fields), self.where(index))
            attempt += 1


@cache
def _order(words: int, seed: int, again: int) -> tuple[int, ...]:
    """Return the words in the order of the questions."""
    return tuple(permutation(words, seed, again).tolist())
