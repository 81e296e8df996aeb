"""Generated data: examples by number, computed on demand."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar, get_args

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.hash_split import Part, hash_fraction
from regard.data.problems import DataError, SkippedLines

T = TypeVar("T")
SYLLABLES = tuple(f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou")
"""Of invented words."""
ENDLESS = 2**62
"""Size of a split that is drawn without end, more than are ever drawn."""


class Generated(abc.ABC):
    """Examples by number, each a function of the seed, the split and its number. Subclasses are frozen dataclasses.

    Attributes:
        split: which part; what is in one is in no other.
        size: how many examples.
    """

    split: Part
    size: int

    @abc.abstractmethod
    def example(self, index: int) -> Example:
        """The example of a number from 0 to `size` - 1."""

    @property
    def kind(self) -> str:
        """Name of such data in messages."""
        return type(self).__name__.lower()

    @property
    def files(self) -> tuple[Path, ...]:
        """None."""
        return ()

    @property
    def skipped(self) -> SkippedLines:
        """Nothing."""
        return SkippedLines()

    def settings(self) -> str:
        """All of it."""
        return repr(self)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Example]:
        return (self[index] for index in range(self.size))

    def __getitem__(self, index: int) -> Example:
        if not 0 <= index < self.size:
            raise IndexError(f"example {index} of {self.size}")
        return self.example(index)

    def check_split(self) -> None:
        """One clear sentence for a split that is none."""
        if self.split not in get_args(Part):
            raise DataError(f"split is {self.split!r}; it can be {', '.join(get_args(Part))}")

    def where(self, index: int) -> str:
        """Return the place of an example, for messages."""
        return f"{self.kind}.{self.split}:{index}"

    def first_here(self, draw: Callable[[int], T], text: Callable[[T], str]) -> T:
        """Return the first draw that is in this split.

        Args:
            draw: makes one of the number of the attempt, from 0.
            text: that its split is decided by.
        """
        return next(one for one in map(draw, count()) if self.is_here(text(one)))

    def is_here(self, text: str) -> bool:
        """Return whether a text is in this split: 80% of all are in "train", 10% each in the others, by their hash."""
        place = hash_fraction(text, self.kind)
        return self.split == ("valid" if place < 0.1 else "test" if place < 0.2 else "train")


@cache
def adjectives() -> tuple[str, ...]:
    """Return all words of two syllables in a fixed order: those at odd places praise, the others blame."""
    words = [first + second for first in SYLLABLES for second in SYLLABLES]
    order = np.argsort(splitmix64(np.arange(len(words), dtype=np.uint64), 7), kind="stable")
    return tuple(words[place] for place in order.tolist())
