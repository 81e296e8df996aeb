"""Generated reports and claims about locations: pairs that require relating words, not only matching them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import Generated, adjectives
from regard.data.hash_split import Part
from regard.data.problems import DataError

_PLACES = ("bar", "bath", "cellar", "garden", "hall", "kitchen", "library", "lift", "office", "pool", "stable", "tower")
_LABELS = ("yes", "no", "unknown")


@dataclass(frozen=True)
class Claims(Generated):
    """Generated reports of people's locations with a claim about one person: "yes", "no" or "unknown".

    "duma is in the garden , levi is in the bar" and "levi is in the garden": no. A false claim uses the location of
    another person in the report; a claim about an unmentioned person ("unknown") also uses a location of the report.
    All words of true and false claims therefore occur in the report; only the combination of person and location
    distinguishes them. Splits share no reports.

    Args:
        split: "train" (80% of all reports), "valid" or "test" (10% each).
        size: number of examples.
        names: number of different names.
        shortest, longest: smallest and largest number of persons in a report.
        seed: random seed of the examples.

    >>> list(Claims(shortest=2, longest=2)[0].fields.values())
    ['gege is in the stable , veni is in the cellar', 'pubi is in the cellar', 'unknown']
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    names: int = field(default=30, kw_only=True)
    shortest: int = field(default=3, kw_only=True)
    longest: int = field(default=6, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 2 <= self.shortest <= self.longest <= len(_PLACES):
            raise DataError(
                f"reports on {self.shortest} to {self.longest} persons: 2 <= shortest <= longest <= {len(_PLACES)}"
            )
        if not self.longest < self.names <= len(adjectives()):
            raise DataError(
                f"there are {self.longest + 1} to {len(adjectives())} names for reports on {self.longest} persons, "
                f"not {self.names}"
            )

    def example(self, index: int) -> Example:
        attempt = 0
        while True:
            text, second, label = self._drawn(index, attempt)
            if self.is_here(text):
                return Example({"text": text, "second": second, "label": label}, self.where(index))
            attempt += 1

    def _drawn(self, index: int, attempt: int) -> tuple[str, str, str]:
        """Draw a report, a claim and the label."""
        count, person, label, away, *rest = splitmix64(
            np.arange(4 + self.names + len(_PLACES), dtype=np.uint64), self.seed, index, attempt
        ).tolist()
        count = self.shortest + count % (self.longest - self.shortest + 1)
        who = [adjectives()[number] for number in np.argsort(rest[: self.names])[: count + 1].tolist()]
        where = [_PLACES[number] for number in np.argsort(rest[self.names :])[:count].tolist()]
        report = " , ".join(_claim(*one) for one in zip(who, where, strict=False))
        person, answer = person % count, _LABELS[label % 3]
        other = (person + 1 + away % (count - 1)) % count
        claims = {
            "yes": (who[person], where[person]),
            "no": (who[person], where[other]),
            "unknown": (who[count], where[person]),
        }
        return report, _claim(*claims[answer]), answer


def _claim(person: str, place: str) -> str:
    return f"{person} is in the {place}"
