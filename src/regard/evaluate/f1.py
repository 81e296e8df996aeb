"""F1: precision and recall in one number, for classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from regard.evaluate.accuracy import label_pairs
from regard.evaluate.nearest import unknown
from regard.evaluate.score import Score, signature
from regard.evaluate.tally import Floats, Tally, share
from regard.evaluate.texts import References

AVERAGES = ("macro", "micro")


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
    if average not in AVERAGES:
        raise unknown("f1", "average", average, AVERAGES)
    pairs = label_pairs("f1", hypotheses, references, whole=whole)
    classes = sorted({label for pair in pairs for labels in pair for label in labels})
    rows = [[count for name in classes for count in _counts(name, *pair)] for pair in pairs]

    def value(summed: Floats) -> float:
        counts = summed.reshape(-1, 3)
        if average == "micro":
            return f1_of(*counts.sum(0).tolist())
        seen = counts[counts.sum(1) > 0]
        return share(sum(f1_of(*row) for row in seen.tolist()), len(seen))

    return Tally.of("F1", rows, value, signature(unit="label", average=average))


def f1(hypotheses: Sequence[str], references: References, *, average: str = "macro", whole: bool = False) -> Score:
    """F1 over classes; a text may have one label or, separated by spaces, one for each of its tokens.

    Args:
        hypotheses: the labels of each text.
        references: the true ones, equally many.
        average: `"macro"`, the mean over the classes that are claimed or true anywhere, rare ones counting as much as
            common ones; or `"micro"`, over all decisions, which is the accuracy where each token has one label.
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
    pairs = label_pairs("f1", hypotheses, references, whole=whole)
    claimed = [label for labels, _ in pairs for label in labels]
    true = [label for _, labels in pairs for label in labels]
    return {name: class_f1(*_counts(name, claimed, true)) for name in sorted({*claimed, *true})}


def _counts(name: str, claimed: Iterable[str], true: Iterable[str]) -> tuple[int, int, int]:
    claims, truths = [label == name for label in claimed], [label == name for label in true]
    return sum(a and b for a, b in zip(claims, truths, strict=True)), sum(claims), sum(truths)
