"""Calibration: how far confidences lie from the share of answers that are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regard.evaluate.metric_result import MetricResult, signature
from regard.evaluate.tally import Floats, Tally, safe_ratio


class Bin(NamedTuple):
    """Answers whose confidences lie between two bounds: one bar of a reliability diagram.

    Attributes:
        low, high: the bounds; a confidence equal to `high` is inside, one equal to `low` is not, but for 0.
        size: how many answers.
        confidence: their mean confidence; 0 if there are none.
        accuracy: the share that is right; 0 if there are none.
    """

    low: float
    high: float
    size: int
    confidence: float
    accuracy: float


def calibration_tally(confidences: Sequence[float], right: Sequence[bool], *, bins: int = 15) -> Tally:
    """The bin, the confidence and the outcome of every answer, for `calibration_error` and for the bootstrap."""
    place, confidence, outcome = _binned(confidences, right, bins)
    rows = np.zeros((len(place), 2, bins))  # [N, (sum of confidences, sum of right answers), bins]
    each = np.arange(len(place))
    rows[each, 0, place], rows[each, 1, place] = confidence, outcome
    count = np.ones((len(place), 1))

    def value(summed: Floats) -> float:
        gap = np.abs(summed[:bins] - summed[bins:-1]).sum()
        return safe_ratio(float(gap), float(summed[-1]))

    how = signature(bins=bins, width="equal")
    return Tally("ECE", np.concatenate((rows.reshape(len(place), -1), count), 1), value, how)


def calibration_error(confidences: Sequence[float], right: Sequence[bool], *, bins: int = 15) -> MetricResult:
    r"""Expected calibration error, between 0 and 1; lower is better.

    .. math:: \mathrm{ECE} = \sum_{m=1}^{M} \frac{|B_m|}{N} \, \big|\mathrm{acc}(B_m) - \mathrm{conf}(B_m)\big|

    with :math:`B_m` the answers whose confidence lies in ((m - 1) / M, m / M].

    Args:
        confidences: N probabilities, one per answer.
        right: N outcomes, true for a right answer.
        bins: M, of equal width.

    Returns:
        Score; with one bin, the distance between mean confidence and accuracy.

    Guo, Pleiss, Sun & Weinberger 2017, "On Calibration of Modern Neural Networks", equation 3, after Naeini, Cooper &
    Hauskrecht 2015. Two answers of confidence 0.9, one of them right, and two of 0.6, both right, are 0.4 off each:

    >>> print(calibration_error([0.9, 0.9, 0.6, 0.6], [True, False, True, True]))
    ECE 0.4000 (bins:15|width:equal)
    """
    return calibration_tally(confidences, right, bins=bins).score()


def reliability(confidences: Sequence[float], right: Sequence[bool], *, bins: int = 15) -> list[Bin]:
    """Return the bins of a reliability diagram, empty ones among them.

    >>> reliability([0.9, 0.8, 0.3], [True, False, False], bins=2)[1]
    Bin(low=0.5, high=1.0, size=2, confidence=0.85, accuracy=0.5)
    """
    place, confidence, outcome = _binned(confidences, right, bins)
    found = []
    for number in range(bins):
        inside = place == number
        count = int(inside.sum())
        means = (safe_ratio(float(values[inside].sum()), count) for values in (confidence, outcome))
        found.append(Bin(number / bins, (number + 1) / bins, count, *means))
    return found


def _binned(
    confidences: Sequence[float], right: Sequence[bool], bins: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], Floats, Floats]:
    """The bin of every answer, its confidence, and 1 for a right one; all [N]."""
    values, outcome = np.asarray(confidences, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if bins < 1:
        raise ValueError(f"calibration: bins must be 1 or more; got {bins}")
    if values.ndim != 1 or values.shape != outcome.shape:
        raise ValueError(
            f"calibration: one outcome per confidence is needed; got shapes {values.shape} and {outcome.shape}"
        )
    if not len(values):
        raise ValueError("calibration: there is nothing to score: the list of confidences is empty")
    outside = ~((values >= 0) & (values <= 1))
    if outside.any():
        number = int(outside.argmax())
        raise ValueError(f"calibration: confidence {number + 1} is {values[number]}; it must lie between 0 and 1")
    bounds = np.arange(1, bins) / bins
    return np.searchsorted(bounds, values, side="left"), values, outcome
