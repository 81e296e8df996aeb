"""Balanced accuracy: the mean recall of the classes."""

from __future__ import annotations

from collections.abc import Sequence

from regard.evaluate.class_counts import class_counts
from regard.evaluate.score import Score, signature
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References


def balanced_accuracy_tally(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Tally:
    """Counts of each class in every text, for `balanced_accuracy` and for the bootstrap."""
    rows = class_counts("balanced_accuracy", hypotheses, references, whole=whole).rows
    return Tally("balanced accuracy", rows, _value, signature(unit="label"))


def balanced_accuracy(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Score:
    """The mean over the classes that are true anywhere of the share of them that is found.

    Always claiming the most frequent of C classes has 1 / C.

    >>> print(balanced_accuracy(["no", "no", "no", "no"], ["yes", "no", "no", "no"]))
    balanced accuracy 0.5000 (unit:label)
    """
    return balanced_accuracy_tally(hypotheses, references, whole=whole).score()


def _value(summed: Floats) -> float:
    counts = summed.reshape(-1, 3)
    true = counts[counts[:, 2] > 0]
    return float((true[:, 0] / true[:, 2]).mean()) if len(true) else 0.0
