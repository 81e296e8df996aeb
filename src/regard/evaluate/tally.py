"""Tally: what each sentence adds to a corpus metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from regard.evaluate.metric_result import MetricResult

if TYPE_CHECKING:  # numpy takes a tenth of a second to import, and recipes are checked by the names of metrics alone
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True)
class Tally:
    """A corpus metric as a function of a sum: counts of every sentence, added up, then turned into one value.

    Every metric of this floor has this form, and is computed from it alone. That is why the average of sentence scores
    is never mistaken for the score of a corpus, and why a bootstrap over sentences costs next to nothing.

    Attributes:
        name: of the metric, as it is printed.
        rows: [N, K], the K counts of each of N sentences.
        value: from the summed counts [K] to the metric.
        signature: see `MetricResult`.

    >>> import numpy as np
    >>> errors = Tally("WER", np.array([[1.0, 4.0], [0.0, 6.0]]), lambda s: s[0] / s[1], "unit:word")
    >>> print(errors.score())
    WER 0.1000 (unit:word)
    >>> errors.resampled(np.array([0, 0]))   # the first sentence twice
    0.25
    """

    name: str
    rows: Floats
    value: Callable[[Floats], float]
    signature: str

    @classmethod
    def of(cls, name: str, rows: Sequence[Sequence[float]], value: Callable[[Floats], float], signature: str) -> Tally:
        """From plain lists of counts."""
        import numpy as np

        return cls(name, np.asarray(rows, dtype=np.float64), value, signature)

    def __len__(self) -> int:
        return len(self.rows)

    def score(self) -> MetricResult:
        """The metric of the whole corpus."""
        return MetricResult(self.name, float(self.value(self.rows.sum(0))), self.signature, len(self))

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The metric of the corpus made of these sentences, some of them more than once: picks [M]."""
        return float(self.value(self.rows[picks].sum(0)))


def safe_ratio(part: float, whole: float) -> float:
    """part / whole, and 0 where there is nothing."""
    return float(part / whole) if whole else 0.0
