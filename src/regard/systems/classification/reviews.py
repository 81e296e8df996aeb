"""Generated hotel reviews in made-up adjectives, with several labels, a number or one label as target."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Literal

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example, Value
from regard.data.generated import Generated, adjectives
from regard.data.hash_split import Part
from regard.data.problems import DataError

_ASPECTS = {
    "food": ("food", "breakfast", "soup", "coffee"),
    "noise": ("street", "lift", "party downstairs", "heating"),
    "price": ("price", "bill", "minibar"),
    "room": ("room", "bed", "bath", "view"),
    "staff": ("staff", "porter", "desk"),
}
_DEGREES = (("", 1), ("quite ", 1), ("very ", 2), ("so ", 2))
_FORMS = ("label", "labels", "number")


@dataclass(frozen=True)
class Reviews(Generated):
    """Generated reviews that rate one to four aspects of a hotel: "the bed was noro , the bill was very zada".

    Each adjective is positive or negative, in any context. The target "labels" is the set of negatively rated aspects,
    possibly empty. The "number" is 3 plus the mean over the aspects: ±1 for a positive or negative adjective, ±2 with
    "very" or "so". The single "label" is "good" above 3, "bad" below, else "fair".

    Args:
        split: "train" (80% of all reviews), "valid" or "test" (10% each).
        size: number of examples.
        target: "labels", "number" or "label".
        words: number of positive adjectives, and of negative ones.
        seed: random seed of the reviews; the meanings of words do not depend on it.

    >>> Reviews()[2].fields, Reviews(target="number")[2].fields["label"]
    ({'text': 'the room was quite noro , the porter was zada , the minibar was so kiri', 'label': ['room']}, '3.67')
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    target: Literal["label", "labels", "number"] = field(default="labels", kw_only=True)
    words: int = field(default=30, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if self.target not in _FORMS:
            raise DataError(f"target is {self.target!r}; it can be {', '.join(_FORMS)}")
        if not 1 <= self.words <= len(adjectives()) // 2:
            raise DataError(f"there are 1 to {len(adjectives()) // 2} adjectives of each kind, not {self.words}")

    def example(self, index: int) -> Example:
        text, points = self.first_here(partial(self._drawn, index), itemgetter(0))
        return Example({"text": text, "label": self._target(points)}, self.where(index))

    def _drawn(self, index: int, attempt: int) -> tuple[str, dict[str, int]]:
        """Draw a review and the points of each of its aspects."""
        count, *rest = splitmix64(np.arange(1 + 5 * len(_ASPECTS), dtype=np.uint64), self.seed, index, attempt).tolist()
        names, points, parts = list(_ASPECTS), dict[str, int](), []
        for place in range(1 + count % 4):
            name, thing, good, degree, word = rest[5 * place : 5 * place + 5]
            aspect = names.pop(name % len(names))
            before, weight = _DEGREES[degree % len(_DEGREES)]
            adjective = adjectives()[2 * (word % self.words) + good % 2]
            points[aspect] = weight if good % 2 else -weight
            parts.append(f"the {_ASPECTS[aspect][thing % len(_ASPECTS[aspect])]} was {before}{adjective}")
        return " , ".join(parts), points

    def _target(self, points: dict[str, int]) -> Value:
        if self.target == "labels":
            return sorted(aspect for aspect, worth in points.items() if worth < 0)
        mean = sum(points.values()) / len(points)
        if self.target == "number":
            return f"{3 + mean:.2f}"
        return "good" if mean > 0 else "bad" if mean < 0 else "fair"
