"""Counts of each class: the rows that precision, recall, F1, balanced accuracy and MCC are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from regard.evaluate.accuracy import label_pairs
from regard.evaluate.metric_result import signature
from regard.evaluate.tally import Floats, Tally, safe_ratio
from regard.evaluate.texts import References, unknown

AVERAGES = ("macro", "micro", "weighted")

Measure = Callable[[float, float, float], float]
"""From found (claimed and true), claimed and true counts to a value."""


class ClassCounts(NamedTuple):
    """The classes in sorted order, and the rows [N, C * 3]: found, claimed and true counts of each class per text."""

    names: tuple[str, ...]
    rows: Floats


def class_counts(metric: str, hypotheses: Sequence[str], references: References, *, whole: bool = False) -> ClassCounts:
    """Return the counts of each class in each text.

    >>> counts = class_counts("f1", ["a b"], ["a c"])
    >>> counts.names, counts.rows.reshape(-1, 3).tolist()
    (('a', 'b', 'c'), [[1.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    """
    pairs = label_pairs(metric, hypotheses, references, whole=whole)
    names = tuple(sorted({label for pair in pairs for labels in pair for label in labels}))
    number = {name: place for place, name in enumerate(names)}
    rows = np.zeros((len(pairs), len(names), 3))
    for row, (claimed, true) in zip(rows, pairs, strict=True):
        for one, other in zip(claimed, true, strict=True):
            row[number[one], 0] += one == other
            row[number[one], 1] += 1
            row[number[other], 2] += 1
    return ClassCounts(names, rows.reshape(len(pairs), -1))


def class_tally(
    name: str,
    metric: str,
    measure: Measure,
    hypotheses: Sequence[str],
    references: References,
    *,
    average: str,
    whole: bool,
) -> Tally:
    """Return the tally of a measure of single classes, averaged over them.

    Args:
        name: as the score is printed.
        metric: as a recipe writes it.
        measure: of one class.
        hypotheses: the labels of each text.
        references: the true ones.
        average: `"macro"`, the mean over the classes that are claimed or true anywhere; `"micro"`, the measure of the
            summed counts; `"weighted"`, the mean over classes weighted by how often each is true.
        whole: whether each text has one label, with its spaces.
    """
    if average not in AVERAGES:
        raise unknown(metric, "average", average, AVERAGES)
    rows = class_counts(metric, hypotheses, references, whole=whole).rows

    def value(summed: Floats) -> float:
        return averaged(summed.reshape(-1, 3), measure, average)

    return Tally(name, rows, value, signature(unit="label", average=average))


def averaged(counts: Floats, measure: Measure, average: str) -> float:
    """Return the average of a measure over classes, from their counts [C, 3]."""
    if average == "micro":
        return measure(*counts.sum(0).tolist())
    seen = counts[counts.sum(1) > 0]  # a class that a resample does not have is no class of it
    weights = np.ones(len(seen)) if average == "macro" else seen[:, 2]
    values = [measure(*row) for row in seen.tolist()]
    return safe_ratio(float(weights @ np.asarray(values)), float(weights.sum())) if values else 0.0
