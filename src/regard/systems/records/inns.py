"""Generated records: inns with invented names and towns, and a description of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import SYLLABLES, Generated
from regard.data.hash_split import Part
from regard.data.random_draws import Dice

FOODS = ("Alpine", "Basque", "Creole", "Greek", "Indian", "Thai")
PRICES = ("cheap", "moderate", "high")
_OPENINGS = (
    "{name} is an inn in {town}.",
    "In {town} there is an inn called {name}.",
    "The inn {name} stands in {town}.",
    "Stay at {name} if you come to {town}.",
)
_FOOD = ("It serves {food} food.", "The kitchen is {food}.", "{food} food is served.")
_PRICE = ("Its prices are {price}.", "Expect {price} prices.")
_ROOMS = ("It has {rooms} rooms.", "There are {rooms} rooms.")
_DOGS = {"yes": ("Dogs are welcome.", "You may bring dogs."), "no": ("No dogs, please.", "It does not take dogs.")}


@dataclass(frozen=True)
class Inns(Generated):
    """Generated records of inns. Names and towns are invented, and disjoint between splits.

    A record has a name and a town, and each of food, price, rooms and dogs with probability 2/3. Its text has an
    opening and one sentence per further field, in random order and with random wording.

    Args:
        split: "train" (80% of all names and towns), "valid" or "test" (10% each).
        size: number of examples.
        seed: random seed of the records.

    >>> example = next(iter(Inns("train", size=3)))
    >>> list(example.fields["record"])[:2], example.fields["text"].count(".") == len(example.fields["record"]) - 1
    (['name', 'town'], True)
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()

    def example(self, index: int) -> Example:
        dice = Dice(_numbers(self.seed, index))
        record = {"name": self._word(dice), "town": self._word(dice)}
        options = {"food": FOODS, "price": PRICES, "rooms": tuple(map(str, range(3, 12))), "dogs": ("yes", "no")}
        for name, values in options.items():
            if dice.below(3):
                record[name] = dice.of(values)
        return Example({"record": record, "text": _told(record, dice)}, self.where(index))

    def _word(self, dice: Dice) -> str:
        """Draw an invented word of three syllables that belongs to this split."""
        while True:
            word = "".join(dice.of(SYLLABLES) for _ in range(3)).capitalize()
            if self.is_here(word):
                return word


def _told(record: dict[str, str], dice: Dice) -> str:
    """Return a description of a record."""
    ways = {"food": _FOOD, "price": _PRICE, "rooms": _ROOMS, "dogs": _DOGS.get(record.get("dogs", ""), ())}
    further = [dice.of(ways[name]) for name in record if name in ways]
    ordered = [further.pop(dice.below(len(further))) for _ in range(len(further))]
    return " ".join((dice.of(_OPENINGS), *ordered)).format(**record)


def _numbers(*seeds: int) -> Iterator[int]:
    """Yield random numbers block by block, each block from its end."""
    for block in count():
        yield from reversed(splitmix64(np.arange(64, dtype=np.uint64), *seeds, block).tolist())
