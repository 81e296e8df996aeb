"""Precision: how many of the claims of a class are right."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.class_counts import class_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally, share
from regard.evaluate.texts import References


def precision_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Counts of each class in every text, for `precision` and for the bootstrap."""

    def found_of_claimed(found: float, claimed: float, true: float) -> float:
        return share(found, claimed)

    return class_tally("precision", "precision", found_of_claimed, hypotheses, references, average=average, whole=whole)


def precision(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Score:
    """The share of right ones among the claims of each class, averaged over classes as in `f1`.

    A class that is never claimed has precision 0.

    >>> print(precision(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))   # 1 for yes, 2/3 for no
    precision 0.8333 (unit:label|average:macro)
    """
    return precision_tally(hypotheses, references, average=average, whole=whole).score()
