"""MCC: the correlation of claimed and true classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.evaluate.class_counts import class_counts
from regard.evaluate.score import Score, signature
from regard.evaluate.tally import Floats, Tally, share
from regard.evaluate.texts import References


def mcc_tally(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Tally:
    """Counts of each class in every text, for `mcc` and for the bootstrap."""
    rows = class_counts("mcc", hypotheses, references, whole=whole).rows
    return Tally("MCC", rows, _value, signature(unit="label"))


def mcc(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Score:
    r"""Matthews' correlation coefficient, for any number of classes.

    .. math:: \frac{c s - \sum_k p_k t_k}{\sqrt{(s^2 - \sum_k p_k^2)(s^2 - \sum_k t_k^2)}}

    with c right decisions of s, and class k claimed :math:`p_k` and true :math:`t_k` times. It is 0 where all claims or
    all truths are of one class.

    Args:
        hypotheses: the labels of each text.
        references: the true ones, equally many.
        whole: whether each text has one label, with its spaces.

    Returns:
        Score of at most 1; 0 for claims that are independent of the truth.

    Matthews 1975; for several classes Gorodkin 2004, "Comparing two K-category assignments by a K-category correlation
    coefficient".

    >>> print(mcc(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))    # (3 * 4 - 8) / √((16 - 10) (16 - 8))
    MCC 0.5774 (unit:label)
    """
    return mcc_tally(hypotheses, references, whole=whole).score()


def _value(summed: Floats) -> float:
    right, claimed, true = summed.reshape(-1, 3).T  # [C] each
    decisions = float(true.sum())
    covariance = float(right.sum()) * decisions - float(claimed @ true)
    spread = (decisions**2 - float(claimed @ claimed)) * (decisions**2 - float(true @ true))
    return share(covariance, math.sqrt(max(spread, 0.0)))
