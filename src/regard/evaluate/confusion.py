"""Confusion matrix: which class was claimed for which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.evaluate.accuracy import label_pairs
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.texts import References


class Mistake(NamedTuple):
    """Number of times that a class was taken for another."""

    true: str
    claimed: str
    times: int


@dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of true classes (rows) and claimed ones (columns).

    Attributes:
        names: the classes in sorted order: all that are true or claimed anywhere.
        counts: [C, C]; `counts[i, j]` of class i were claimed to be class j.
    """

    names: tuple[str, ...]
    counts: NDArray[np.int64]

    @staticmethod
    def of(pairs: Iterable[tuple[str, str]]) -> Confusion:
        """Count pairs of a true class and the claimed one.

        >>> Confusion.of([("yes", "yes"), ("yes", "no"), ("no", "no")]).counts.tolist()
        [[1, 0], [1, 1]]
        """
        found = list(pairs)
        names = tuple(sorted({name for pair in found for name in pair}))
        number = {name: place for place, name in enumerate(names)}
        counts = np.zeros((len(names), len(names)), np.int64)
        for true, claimed in found:
            counts[number[true], number[claimed]] += 1
        return Confusion(names, counts)

    def scores(self) -> ClassScores:
        """Return precision, recall and F1 of each class, and their averages.

        >>> Confusion.of([("yes", "yes"), ("yes", "no"), ("no", "no"), ("no", "no")]).scores().averages()["macro"]
        ClassF1(precision=0.833, recall=0.75, f1=0.733, support=4)
        """
        counts = np.stack((np.diag(self.counts), self.counts.sum(0), self.counts.sum(1)), axis=1)
        return ClassScores(self.names, counts.astype(np.float64), int(self.counts.sum()))

    def mistakes(self, most: int) -> list[Mistake]:
        """Return the most frequent mistakes, at most so many.

        >>> Confusion.of([("a", "b"), ("a", "c"), ("b", "c"), ("b", "c"), ("c", "c")]).mistakes(1)
        [Mistake(true='b', claimed='c', times=2)]
        """
        wrong = self.counts - np.diag(np.diag(self.counts))
        order = np.argsort(-wrong, axis=None, kind="stable")[:most].tolist()
        places = [divmod(place, len(self.names)) for place in order]
        return [Mistake(self.names[row], self.names[column], int(wrong[row, column])) for row, column in places
                if wrong[row, column]]  # fmt: skip

    def largest(self, most: int) -> Confusion:
        """Return the part of the matrix that has the classes which are true most often, at most so many."""
        order = np.argsort(-self.counts.sum(1), kind="stable")[:most]
        kept = np.sort(order)
        return Confusion(tuple(self.names[place] for place in kept), self.counts[np.ix_(kept, kept)])

    def as_json(self) -> dict[str, Any]:
        """Return plain values: the names, and the counts row by row."""
        return {"labels": list(self.names), "counts": self.counts.tolist()}


def confusion(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Confusion:
    """Return the confusion matrix of texts with one label each or, separated by spaces, one for each of their tokens.

    Args:
        hypotheses: the labels of each text.
        references: the true ones, equally many.
        whole: whether each text has one label, with its spaces.

    >>> confusion(["yes", "no", "no"], ["yes", "yes", "no"]).mistakes(9)
    [Mistake(true='yes', claimed='no', times=1)]
    """
    pairs = label_pairs("confusion", hypotheses, references, whole=whole)
    return Confusion.of((one, other) for claimed, true in pairs for one, other in zip(true, claimed, strict=True))
