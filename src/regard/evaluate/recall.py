"""Recall: how many of the texts of a class are found."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.class_counts import class_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally, share
from regard.evaluate.texts import References


def recall_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Counts of each class in every text, for `recall` and for the bootstrap."""

    def found_of_true(found: float, claimed: float, true: float) -> float:
        return share(found, true)

    return class_tally("recall", "recall", found_of_true, hypotheses, references, average=average, whole=whole)


def recall(hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False) -> Score:
    """The share of each class that is found, averaged over classes as in `f1`.

    Macro counts a class that is claimed and never true with 0; `balanced_accuracy` leaves it out.

    >>> print(recall(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))   # 1/2 for yes, 1 for no
    recall 0.7500 (unit:label|average:macro)
    """
    return recall_tally(hypotheses, references, average=average, whole=whole).score()
