"""Synthetic data: examples by index, computed on demand."""

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
"""Syllables of invented words."""
ENDLESS = 2**62
"""Size of an endless split, larger than any run can draw."""


class Generated(abc.ABC):
    """Examples by index, each a function of seed, split and index. Subclasses are frozen dataclasses.

    Attributes:
        split: name of the split; splits are disjoint.
        size: number of examples.
    """

    split: Part
    size: int

    @abc.abstractmethod
    def example(self, index: int) -> Example:
        """Return the example of an index from 0 to `size` - 1."""

    @property
    def kind(self) -> str:
        """Name of the data in messages."""
        return type(self).__name__.lower()

    @property
    def files(self) -> tuple[Path, ...]:
        """No files: the data are generated."""
        return ()

    @property
    def skipped(self) -> SkippedLines:
        """No lines are skipped."""
        return SkippedLines()

    def settings(self) -> str:
        """Return all settings, for the cache key."""
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
        """Raise DataError for an unknown split."""
        if self.split not in get_args(Part):
            raise DataError(f"split is {self.split!r}; it can be {', '.join(get_args(Part))}")

    def where(self, index: int) -> str:
        """Return the location of an example, for messages."""
        return f"{self.kind}.{self.split}:{index}"

    def first_here(self, draw: Callable[[int], T], text: Callable[[T], str]) -> T:
        """Draw until an example falls into this split, and return it (rejection sampling).

        Args:
            draw: function from the number of the attempt, from 0, to a candidate.
            text: function from a candidate to the text whose hash decides its split.
        """
        return next(one for one in map(draw, count()) if self.is_here(text(one)))

    def is_here(self, text: str) -> bool:
        """Return whether a text is in this split by its hash: 80% are in "train", 10% in each of the others."""
        place = hash_fraction(text, self.kind)
        return self.split == ("valid" if place < 0.1 else "test" if place < 0.2 else "train")


@cache
def adjectives() -> tuple[str, ...]:
    """Return all words of two syllables in a fixed order; those at odd indices are positive, the others negative."""
    words = [first + second for first in SYLLABLES for second in SYLLABLES]
    order = np.argsort(splitmix64(np.arange(len(words), dtype=np.uint64), 7), kind="stable")
    return tuple(words[place] for place in order.tolist())
