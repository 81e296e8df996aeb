"""Significance tests between the rows of a comparison, on the saved predictions of their runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.compare.result import ResultRow
from regard.evaluate.bootstrap import PairedComparison, paired_bootstrap
from regard.evaluate.metrics import Metric
from regard.evaluate.tally import Tally
from regard.report.answers import Answers


@dataclass(frozen=True)
class OverSeeds:
    """Mean of a metric over runs with the same test inputs, for bootstrap resampling.

    >>> ones = [Tally("x", np.array([[1.0], [0.0]]), lambda s: float(s[0]), ""), Tally("x", np.array([[0.0], [0.0]]),
    ...     lambda s: float(s[0]), "")]
    >>> OverSeeds(ones).resampled(np.array([0, 0]))
    1.0
    """

    tallies: Sequence[Tally]

    def __len__(self) -> int:
        return len(self.tallies[0])

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The mean over the runs of the metric over these examples."""
        return sum(tally.resampled(picks) for tally in self.tallies) / len(self.tallies)


class Difference(NamedTuple):
    """Difference between a row and the first, in one metric."""

    row: ResultRow
    metric: Metric
    found: PairedComparison


def differences(rows: Sequence[ResultRow], metrics: Sequence[Metric]) -> tuple[list[Difference], str]:
    """Return the difference of each row to the first in each metric, or the reason why there are none.

    Args:
        rows: of a comparison.
        metrics: of its recipe.

    Returns:
        The differences, and a sentence that is empty if there are any.
    """
    known = [(row, [Answers.of(result.trial.folder) for result in row.results]) for row in rows if row.results]
    if len(known) < 2 or not metrics:
        return [], "A paired test needs two rows, and a metric that compares answers with right ones."
    if any(answers is None for _, several in known for answers in several):
        return [], "Some runs kept no answers, for they are older than this test; `regard evaluate --against` makes it."
    whole = [(row, [answers for answers in several if answers is not None]) for row, several in known]
    first = whole[0][1][0]
    if not all(answers.asks_as(first) for _, several in whole for answers in several):
        return [], "The rows were tested on different data, so that no test is paired."
    found = []
    for metric in metrics:
        before, *others = [(row, OverSeeds([answers.count(metric) for answers in several])) for row, several in whole]
        found += [Difference(row, metric, paired_bootstrap(before[1], after)) for row, after in others]
    return found, ""
