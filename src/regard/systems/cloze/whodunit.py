"""Generated stories about people's deeds, with a question who did one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from regard.data.batching.order import permutation, splitmix64
from regard.data.example import Example
from regard.data.generated import SYLLABLES, Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.data.random_draws import Dice, random_numbers
from regard.systems.cloze.question import BLANK

_DEEDS = ("bought purchased", "found discovered", "lost mislaid", "hid concealed", "mended repaired", "broke smashed")
_THINGS = ("lamp lantern", "clock watch", "map chart", "rug carpet", "cup mug", "coat jacket", "boat ship", "box chest")
_PLACES = ("attic loft", "cellar basement", "garden yard", "harbour port", "wood forest", "shop store")
_KINDS = tuple(tuple(tuple(both.split()) for both in kind) for kind in (_DEEDS, _THINGS, _PLACES))
_PEOPLE = 6  # maximum number per story
_NAMES = tuple(f"{first}{second}".capitalize() for first in SYLLABLES for second in SYLLABLES if first != second)
_BY_SPLIT = {"valid": _NAMES[::10], "test": _NAMES[1::10]}
_BY_SPLIT["train"] = tuple(sorted({*_NAMES} - {*_BY_SPLIT["valid"], *_BY_SPLIT["test"]}))

Deed = tuple[int, int, int]
"""Indices of an action, an object and a location."""


@dataclass(frozen=True)
class Whodunit(Generated):
    """Stories of three to six people, and a question with a blank for one of them.

    "Tise bought the lamp in the attic . Moba purchased the lantern in the loft ...": each word has a synonym; story
    and question use either. Three deeds of other people share two of three parts with the deed in question. So the
    answer depends on all three parts and on their synonyms. All people act about equally often. The names of a split
    occur in no other split.

    Args:
        split: "train", "valid" or "test".
        size: number of examples.
        shortest, longest: range of the number of sentences.
        seed: seed of the stories.

    >>> example = next(iter(Whodunit(longest=5)))
    >>> for value in (*example.fields["passage"], example.fields["question"], example.fields["answer"]):
    ...     print(value)
    Nema repaired the jacket in the store .
    Lupo mended the jacket in the forest .
    Sude found the coat in the shop .
    Tena purchased the clock in the yard .
    Tena repaired the lamp in the store .
    it was XXXXX who repaired the coat in the store .
    Nema
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=5, kw_only=True)
    longest: int = field(default=9, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 4 <= self.shortest <= self.longest:
            raise DataError(f"stories of {self.shortest} to {self.longest} sentences: 4 <= shortest <= longest")

    def example(self, index: int) -> Example:
        below = Dice(random_numbers(self.seed, index, get_args(Part).index(self.split))).below
        size = self.shortest + below(self.longest - self.shortest + 1)
        people = self._people(min(size, 3 + below(_PEOPLE - 2)), below(2**32))
        asked, *others = _deeds(below, size)
        # Everybody acts at least once, so that the frequency of a name does not reveal the answer.
        actors = people + [people[below(len(people))] for _ in range(size - len(people))]
        told = list(zip(actors, (asked, *others), strict=True))
        order = permutation(size, self.seed, index, below(2**32)).tolist()
        passage = [f"{told[number][0]} {_said(below, told[number][1])} ." for number in order]
        question = f"it was {BLANK} who {_said(below, asked)} ."
        fields = {"passage": passage, "question": question, "candidates": sorted(people), "answer": people[0]}
        return Example(fields, self.where(index))

    def _people(self, count: int, seed: int) -> list[str]:
        """Return distinct names of this split."""
        mine, found = _BY_SPLIT[self.split], dict[str, None]()
        for place in splitmix64(np.arange(4 * count, dtype=np.uint64), self.seed, seed).tolist():
            found[mine[place % len(mine)]] = None
        return list(found)[:count]


def _deeds(below: Callable[[int], int], size: int) -> list[Deed]:
    """Return distinct deeds: the one in question, three that share two parts with it, and others."""
    deeds, things, places = map(len, _KINDS)

    def other(one: int, size: int) -> int:
        return (one + 1 + below(size - 1)) % size

    deed, thing, place = below(deeds), below(things), below(places)
    found = [(deed, thing, place), (other(deed, deeds), thing, place)]
    found += [(deed, other(thing, things), place), (deed, thing, other(place, places))]
    while len(found) < size:
        more = below(deeds), below(things), below(places)
        found += [more] * (more not in found)
    return found


def _said(below: Callable[[int], int], deed: Deed) -> str:
    """Return a deed as text; each word is drawn from two synonyms."""
    done, thing, place = (kind[number][below(2)] for kind, number in zip(_KINDS, deed, strict=True))
    return f"{done} the {thing} in the {place}"
