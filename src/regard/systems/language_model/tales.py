"""Generated tales of animals with made-up names, each introduced once, at the beginning."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from regard.data.batching.order import permutation, splitmix64
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError

_ANIMALS = ("bear", "beaver", "bee", "boar", "goat", "goose")
_DEEDS = ("bakes bread", "beats a drum", "bears a load", "digs a well", "sings", "sleeps")
_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")
NAMES = len(_SYLLABLES) ** 4
"""Number of possible names."""
_STRIDE = 12_343  # coprime to NAMES, so that distinct numbers have distinct names


@dataclass(frozen=True)
class Tales(Generated):
    """Short tales of animals with names: "here is the bear Zodelaba . here is the bee Pokunime . the bee Pokunime ...".

    Animals and deeds are drawn uniformly, so they are unpredictable. A name is drawn when it is introduced; from then
    on it is determined by the animal, so a model must remember it or attend to it. With few names, each is frequent in
    training; with many, almost all are unseen. The splits are disjoint.

    Args:
        split: "train" (80% of all tales), "valid" or "test" (10% each).
        size: number of tales.
        names: number of possible names.
        animals: number of animals per tale.
        deeds: number of sentences per tale after the introductions.
        seed: seed of the tales; the set of names does not depend on it.

    >>> print(Tales(animals=2, deeds=3)[0].fields["text"])
    here is the boar Basasala . here is the bear Fibagote . the bear Fibagote sings . the bear Fibagote sleeps . ...
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    names: int = field(default=NAMES, kw_only=True)
    animals: int = field(default=3, kw_only=True)
    deeds: int = field(default=6, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.animals <= len(_ANIMALS):
            raise DataError(f"a tale has 1 to {len(_ANIMALS)} animals, not {self.animals}")
        if not self.animals <= self.names <= NAMES:
            raise DataError(
                f"{self.animals} animals have as many names, and there are {NAMES:,}; names is {self.names}"
            )

    def example(self, index: int) -> Example:
        return Example({"text": self.first_here(partial(self._told, index), str)}, self.where(index))

    @property
    def surprise(self) -> float:
        """Return the entropy of a tale in nats, a lower bound of the loss: animals, their names, and each deed."""
        animals = sum(math.log(len(_ANIMALS) - place) for place in range(self.animals))
        names = sum(math.log(self.names - place) for place in range(self.animals))
        return animals + names + self.deeds * math.log(self.animals * len(_DEEDS))

    def _told(self, index: int, attempt: int) -> str:
        dice = splitmix64(np.arange(self.animals + 2 * self.deeds, dtype=np.uint64), self.seed, index, attempt).tolist()
        kinds = permutation(len(_ANIMALS), self.seed, index, attempt)[: self.animals].tolist()
        called = map(name, _different(dice[: self.animals], self.names))
        known = [f"{_ANIMALS[kind]} {one}" for kind, one in zip(kinds, called, strict=True)]
        told = [f"here is the {one}" for one in known]
        for who, what in zip(dice[self.animals :: 2], dice[self.animals + 1 :: 2], strict=True):
            told.append(f"the {known[who % self.animals]} {_DEEDS[what % len(_DEEDS)]}")
        return " . ".join(told)


def _different(dice: Sequence[int], bound: int) -> list[int]:
    """Return one number below `bound` per die, all distinct and uniformly distributed.

    >>> _different([5, 5, 5], 3)
    [2, 1, 0]
    """
    found: list[int] = []
    for count, roll in enumerate(dice):
        number = roll % (bound - count)
        for taken in sorted(found):
            number += number >= taken
        found.append(number)
    return found


def name(number: int) -> str:
    """Return the name of a number below `NAMES`: four syllables.

    >>> name(0), name(1), name(2)
    ('Babababa', 'Kumezoru', 'Pozozoku')
    """
    rest, parts = number * _STRIDE % NAMES, []
    for _ in range(4):
        rest, syllable = divmod(rest, len(_SYLLABLES))
        parts.append(_SYLLABLES[syllable])
    return "".join(reversed(parts)).capitalize()
