"""F1, precision, recall, balanced accuracy and MCC over classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from regard.evaluate.class_counts import class_counts, class_tally
from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import References


class ClassF1(NamedTuple):
    """Scores of one class: `precision`, `recall`, their harmonic mean `f1`, and how often it is true."""

    precision: float
    recall: float
    f1: float
    support: int


def f1_of(found: float, claimed: float, true: float) -> float:
    """2PR / (P + R) with P = found / claimed and R = found / true, as one fraction: 2 found / (claimed + true)."""
    return safe_ratio(2 * found, claimed + true)


def class_f1(found: float, claimed: float, true: float) -> ClassF1:
    """Precision, recall and F1 from counts."""
    return ClassF1(safe_ratio(found, claimed), safe_ratio(found, true), f1_of(found, claimed, true), int(true))


def f1_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Found, claimed and true counts of each class in every text, for `f1` and for the bootstrap."""
    return class_tally("F1", "f1", f1_of, hypotheses, references, average=average, whole=whole)


def f1(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> MetricResult:
    """F1 over classes; a text may have one label or, separated by spaces, one for each of its tokens.

    Args:
        hypotheses: the labels of each text.
        references: the true ones, equally many.
        average: `"macro"`, the mean over the classes that are claimed or true anywhere, rare ones counting as much as
            common ones; `"micro"`, over all decisions, which is the accuracy where each token has one label; or
            `"weighted"`, the mean over classes weighted by how often each is true.
        whole: whether each text has one label, spaces and all: "very good".

    Returns:
        Score between 0 and 1.

    >>> print(f1(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))   # 2/3 for yes, 4/5 for no
    F1 0.7333 (unit:label|average:macro)
    """
    return f1_tally(hypotheses, references, average=average, whole=whole).score()


def f1_per_class(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> dict[str, ClassF1]:
    """Precision, recall, F1 and support of each class, by name.

    >>> f1_per_class(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"])["yes"]
    ClassF1(precision=1.0, recall=0.5, f1=0.667, support=2)
    """
    names, rows = class_counts("f1", hypotheses, references, whole=whole)
    return {name: class_f1(*counts) for name, counts in zip(names, rows.sum(0).reshape(-1, 3).tolist(), strict=True)}


def precision_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Counts of each class in every text, for `precision` and for the bootstrap."""

    def found_of_claimed(found: float, claimed: float, true: float) -> float:
        return safe_ratio(found, claimed)

    return class_tally("precision", "precision", found_of_claimed, hypotheses, references, average=average, whole=whole)


def precision(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> MetricResult:
    """The share of right ones among the claims of each class, averaged over classes as in `f1`.

    A class that is never claimed has precision 0.

    >>> print(precision(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))   # 1 for yes, 2/3 for no
    precision 0.8333 (unit:label|average:macro)
    """
    return precision_tally(hypotheses, references, average=average, whole=whole).score()


def recall_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Counts of each class in every text, for `recall` and for the bootstrap."""

    def found_of_true(found: float, claimed: float, true: float) -> float:
        return safe_ratio(found, true)

    return class_tally("recall", "recall", found_of_true, hypotheses, references, average=average, whole=whole)


def recall(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> MetricResult:
    """The share of each class that is found, averaged over classes as in `f1`.

    Macro counts a class that is claimed and never true with 0; `balanced_accuracy` leaves it out.

    >>> print(recall(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"]))   # 1/2 for yes, 1 for no
    recall 0.7500 (unit:label|average:macro)
    """
    return recall_tally(hypotheses, references, average=average, whole=whole).score()


def balanced_accuracy_tally(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Tally:
    """Counts of each class in every text, for `balanced_accuracy` and for the bootstrap."""
    rows = class_counts("balanced_accuracy", hypotheses, references, whole=whole).rows
    return Tally("balanced accuracy", rows, _mean_recall, signature(unit="label"))


def balanced_accuracy(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> MetricResult:
    """The mean over the classes that are true anywhere of the share of them that is found.

    Always claiming the most frequent of C classes has 1 / C.

    >>> print(balanced_accuracy(["no", "no", "no", "no"], ["yes", "no", "no", "no"]))
    balanced accuracy 0.5000 (unit:label)
    """
    return balanced_accuracy_tally(hypotheses, references, whole=whole).score()


def _mean_recall(summed: Floats) -> float:
    counts = summed.reshape(-1, 3)
    true = counts[counts[:, 2] > 0]
    return float((true[:, 0] / true[:, 2]).mean()) if len(true) else 0.0


def mcc_tally(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> Tally:
    """Counts of each class in every text, for `mcc` and for the bootstrap."""
    rows = class_counts("mcc", hypotheses, references, whole=whole).rows
    return Tally("MCC", rows, _correlation, signature(unit="label"))


def mcc(hypotheses: Sequence[str], references: References, *, whole: bool = False) -> MetricResult:
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


def _correlation(summed: Floats) -> float:
    right, claimed, true = summed.reshape(-1, 3).T  # [C] each
    decisions = float(true.sum())
    covariance = float(right.sum()) * decisions - float(claimed @ true)
    spread = (decisions**2 - float(claimed @ claimed)) * (decisions**2 - float(true @ true))
    return safe_ratio(covariance, math.sqrt(max(spread, 0.0)))
