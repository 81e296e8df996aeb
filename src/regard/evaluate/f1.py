"""F1: precision and recall in one number, for classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.evaluate.class_counts import class_counts, class_tally
from regard.evaluate.score import Score
from regard.evaluate.tally import Tally, share
from regard.evaluate.texts import References


class ClassF1(NamedTuple):
    """How one class is found: `precision`, `recall`, their harmonic mean `f1`, and how often it is true."""

    precision: float
    recall: float
    f1: float
    support: int


def f1_of(found: float, claimed: float, true: float) -> float:
    """2PR / (P + R) with P = found / claimed and R = found / true, as one fraction: 2 found / (claimed + true)."""
    return share(2 * found, claimed + true)


def class_f1(found: float, claimed: float, true: float) -> ClassF1:
    """Precision, recall and F1 from counts."""
    return ClassF1(share(found, claimed), share(found, true), f1_of(found, claimed, true), int(true))


def f1_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False
) -> Tally:
    """Found, claimed and true counts of each class in every text, for `f1` and for the bootstrap."""
    return class_tally("F1", "f1", f1_of, hypotheses, references, average=average, whole=whole)


def f1(hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False) -> Score:
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
