"""F1 of sets of labels: texts that have any number of labels each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.evaluate.class_counts import AVERAGES, ClassCounts, averaged
from regard.evaluate.class_metrics import ClassF1, class_f1, f1_of
from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts, single_reference, unknown


def label_set_counts(
    metric: str, hypotheses: Sequence[str], references: References, *, separator: str = ","
) -> ClassCounts:
    """Return the counts of each label in each text.

    >>> counts = label_set_counts("micro_f1", ["a,b", ""], ["a,c", "b"])
    >>> counts.names, counts.rows.reshape(2, 3, 3).sum(0).tolist()           # found, claimed, true
    (('a', 'b', 'c'), [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    """
    truths = single_reference(metric, paired_texts(metric, hypotheses, references))
    pairs = [
        (_parted(one, separator), _parted(other, separator)) for one, other in zip(hypotheses, truths, strict=True)
    ]
    names = tuple(sorted(set().union(*(names for pair in pairs for names in pair))))
    number = {name: place for place, name in enumerate(names)}
    rows = np.zeros((len(pairs), len(names), 3))
    for row, (claimed, true) in zip(rows, pairs, strict=True):
        for column, some in enumerate((claimed & true, claimed, true)):
            row[[number[name] for name in some], column] = 1
    return ClassCounts(names, rows.reshape(len(pairs), -1))


def label_set_f1_tally(
    hypotheses: Sequence[str], references: References, *, average: str = "micro", separator: str = ","
) -> Tally:
    """Found, claimed and true counts of each label in every text, for `label_set_f1` and for the bootstrap."""
    if average not in AVERAGES:
        raise unknown("label_set_f1", "average", average, AVERAGES)
    rows = label_set_counts(f"{average}_f1", hypotheses, references, separator=separator).rows

    def value(summed: Floats) -> float:
        return averaged(summed.reshape(-1, 3), f1_of, average)

    return Tally(f"{average} F1", rows, value, signature(unit="label", average=average, sets="yes"))


def label_set_f1(
    hypotheses: Sequence[str], references: References, *, average: str = "micro", separator: str = ","
) -> MetricResult:
    """F1 of texts that have any number of labels each.

    Args:
        hypotheses: the labels of each text, a separator between; an empty text has none.
        references: the true ones, likewise.
        average: `"micro"`, over all decisions; `"macro"`, the mean over the labels that are claimed or true anywhere;
            or `"weighted"`, the mean over labels weighted by how often each is true.
        separator: what stands between two labels.

    Returns:
        Score between 0 and 1; 0 where no label is claimed or true.

    >>> print(label_set_f1(["a,b", "", "c"], ["a", "b", "c"]))               # 2 found, 3 claimed, 3 true
    micro F1 0.6667 (unit:label|average:micro|sets:yes)
    """
    return label_set_f1_tally(hypotheses, references, average=average, separator=separator).score()


def label_set_f1_per_label(
    hypotheses: Sequence[str], references: References, *, separator: str = ","
) -> dict[str, ClassF1]:
    """Return precision, recall, F1 and support of each label, by name.

    >>> label_set_f1_per_label(["a,b", ""], ["a", "b"])["b"]
    ClassF1(precision=0.0, recall=0.0, f1=0.0, support=1)
    """
    names, rows = label_set_counts("label_set_f1", hypotheses, references, separator=separator)
    return {name: class_f1(*counts) for name, counts in zip(names, rows.sum(0).reshape(-1, 3).tolist(), strict=True)}


def _parted(text: str, separator: str) -> set[str]:
    return {name.strip() for name in text.split(separator)} - {""}
