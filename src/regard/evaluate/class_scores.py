"""Precision, recall and F1 of each class, and their averages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.evaluate.class_counts import AVERAGES, Measure, averaged
from regard.evaluate.class_metrics import ClassF1, class_f1, f1_of
from regard.evaluate.tally import Floats, safe_ratio


@dataclass(frozen=True, eq=False)
class ClassScores:
    """The classes of a split, with the counts that their scores are made of.

    Attributes:
        names: of the classes, sorted.
        counts: [C, 3], how often each is found, claimed and true.
        decisions: how many there were in all.

    >>> scores = ClassScores(("no", "yes"), np.array([[2.0, 3.0, 2.0], [1.0, 1.0, 2.0]]), 4)
    >>> scores.per_class()["yes"]
    ClassF1(precision=1.0, recall=0.5, f1=0.667, support=2)
    """

    names: tuple[str, ...]
    counts: Floats
    decisions: int

    def per_class(self) -> dict[str, ClassF1]:
        """Return precision, recall, F1 and support of each class, by name."""
        return {name: class_f1(*row) for name, row in zip(self.names, self.counts.tolist(), strict=True)}

    def averages(self) -> dict[str, ClassF1]:
        """Return the averages over classes by name: macro, micro and weighted; support is the number of decisions."""

        def of(measure: Measure, average: str) -> float:
            return averaged(self.counts, measure, average)

        return {name: ClassF1(of(_precision, name), of(_recall, name), of(f1_of, name), self.decisions)
                for name in AVERAGES}  # fmt: skip

    def most_frequent(self, most: int) -> tuple[str, ...]:
        """Return the classes that are true most often, at most so many, in sorted order."""
        kept = np.sort(np.argsort(-self.counts[:, 2], kind="stable")[:most])
        return tuple(self.names[place] for place in kept)


def _precision(found: float, claimed: float, true: float) -> float:
    return safe_ratio(found, claimed)


def _recall(found: float, claimed: float, true: float) -> float:
    return safe_ratio(found, true)
