"""Metrics of numbers: correlations with the true ones, and how far off they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally
from regard.evaluate.texts import References, paired_texts, single_reference


def pearson_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """Moments of every pair of numbers, for `pearson` and for the bootstrap."""
    return Tally("Pearson", _moments(*_pairs("pearson", hypotheses, references)), _correlation, _SIGNATURE)


def pearson(hypotheses: Sequence[str], references: References) -> MetricResult:
    r"""Pearson's correlation of predicted and true numbers.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}
                       {\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    Args:
        hypotheses: a number each, as text.
        references: the true ones.

    Returns:
        Score between -1 and 1; 0 where all predicted or all true numbers are equal, which goes together with nothing.

    >>> print(pearson(["1", "2", "4"], ["1", "2", "3"]))                      # 3 / √(14/3 · 2)
    Pearson 0.9820 (unit:number)
    """
    return pearson_tally(hypotheses, references).score()


def spearman_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """Every pair of numbers, ranked anew in each resample, for `spearman` and for the bootstrap."""
    x, y = _pairs("spearman", hypotheses, references)
    return RankTally("Spearman", np.stack((x, y), axis=1), _correlation, f"{_SIGNATURE}|ties:mean")


def spearman(hypotheses: Sequence[str], references: References) -> MetricResult:
    """Spearman's correlation: Pearson's of the ranks, equal numbers having the mean of their ranks.

    Args:
        hypotheses: a number each, as text.
        references: the true ones.

    Returns:
        Score between -1 and 1; 0 where all predicted or all true numbers are equal.

    >>> print(spearman(["1", "2", "40", "2"], ["1", "2", "3", "2"]))
    Spearman 1.000 (unit:number|ties:mean)
    """
    return spearman_tally(hypotheses, references).score()


def mae_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """The absolute error of every number, for `mae` and for the bootstrap."""
    return _error_tally("MAE", "mae", np.abs, lambda mean: mean, hypotheses, references)


def mae(hypotheses: Sequence[str], references: References) -> MetricResult:
    """The mean absolute error of predicted numbers, in their own unit.

    >>> print(mae(["1", "5"], ["2", "2"]))
    MAE 2.000 (unit:number)
    """
    return mae_tally(hypotheses, references).score()


def rmse_tally(hypotheses: Sequence[str], references: References) -> Tally:
    """The squared error of every number, for `rmse` and for the bootstrap."""
    return _error_tally("RMSE", "rmse", np.square, math.sqrt, hypotheses, references)


def rmse(hypotheses: Sequence[str], references: References) -> MetricResult:
    """The root of the mean squared error of predicted numbers, in their own unit.

    >>> print(rmse(["1", "5"], ["2", "2"]))                                   # √((1 + 9) / 2)
    RMSE 2.236 (unit:number)
    """
    return rmse_tally(hypotheses, references).score()


@dataclass(frozen=True)
class RankTally(Tally):
    """A metric of the ranks of pairs: rows [N, 2] are ranked within the corpus, or within each resample of it."""

    def score(self) -> MetricResult:
        """The metric of the whole corpus."""
        return MetricResult(self.name, self.resampled(np.arange(len(self))), self.signature, len(self))

    def resampled(self, picks: NDArray[np.int64]) -> float:
        """The metric of the pairs at these places."""
        x, y = self.rows[picks].T
        return float(self.value(_moments(ranks(x), ranks(y)).sum(0)))


def ranks(values: Floats) -> Floats:
    """Return the ranks from 1; equal values have the mean of theirs.

    >>> ranks(np.array([30.0, 10.0, 30.0, 20.0])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(sizes)
    found: Floats = (last - (sizes - 1) / 2.0)[group.reshape(-1)]
    return found


_SIGNATURE = signature(unit="number")


def _pairs(metric: str, hypotheses: Sequence[str], references: References) -> tuple[Floats, Floats]:
    """Predicted and true numbers, [N] each."""
    truths = single_reference(metric, paired_texts(metric, hypotheses, references))
    x, y = (np.array([_number(metric, text) for text in texts], np.float64) for texts in (hypotheses, truths))
    return x, y


def _number(metric: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{metric}: {text!r} is not a finite number")
    return value


def _moments(x: Floats, y: Floats) -> Floats:
    """[N, 6]: 1, x, y, x², y², xy of each pair, shifted and scaled so that sums lose no digits to a large mean."""
    x, y = (np.zeros_like(part) if np.ptp(part) == 0 else (part - part.mean()) / part.std() for part in (x, y))
    return np.stack((np.ones_like(x), x, y, x * x, y * y, x * y), axis=1)


def _correlation(summed: Floats) -> float:
    count, x, y, xx, yy, xy = map(float, summed)
    spread_x, spread_y = count * xx - x * x, count * yy - y * y
    if min(spread_x, spread_y) <= 1e-12 * count * count:  # one side is the same number throughout, up to rounding
        return 0.0
    return min(1.0, max(-1.0, (count * xy - x * y) / math.sqrt(spread_x * spread_y)))


def _error_tally(
    name: str,
    metric: str,
    cost: Callable[[Floats], Floats],
    of_mean: Callable[[float], float],
    hypotheses: Sequence[str],
    references: References,
) -> Tally:
    x, y = _pairs(metric, hypotheses, references)
    rows = np.stack((cost(x - y), np.ones_like(x)), axis=1)
    return Tally(name, rows, lambda summed: of_mean(float(summed[0] / summed[1])), _SIGNATURE)
