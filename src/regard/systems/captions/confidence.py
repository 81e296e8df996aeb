"""Confidence of captions: isotonic regression from log-probability to the probability of being correct."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.systems.captions.field import Knots

HEDGE = "I am not really confident, but "
"""Prefix of captions with low confidence."""


def isotonic(scores: Sequence[float], right: Sequence[float]) -> Knots:
    """Fit isotonic regression with the pool-adjacent-violators algorithm.

    Args:
        scores: scores of N captions; higher scores should mean more correct captions.
        right: N outcomes: 1 for a correct caption, 0 for a wrong one, or a fraction.

    Returns:
        One point (mean score, fraction correct) per pool. Add-one smoothing keeps small pools from being certain.

    Barlow et al. 1972; for the calibration of classifiers Zadrozny & Elkan 2002.

    >>> isotonic([-3.0, -2.0, -1.0, -0.5], [0, 1, 0, 1])
    ((-3.0, 0.333...), (-1.5, 0.5), (-0.5, 0.666...))
    """
    if not scores or len(scores) != len(right):
        raise ValueError(f"isotonic: one outcome per score is needed; got {len(scores)} scores, {len(right)} outcomes")
    pools: list[tuple[int, float, float]] = []  # number of captions, sum of scores, sum of outcomes
    for score, outcome in sorted(zip(scores, map(float, right), strict=True)):
        pools.append((1, score, outcome))
        while len(pools) > 1 and pools[-2][2] * pools[-1][0] >= pools[-1][2] * pools[-2][0]:
            last = pools.pop()
            pools[-1] = tuple(one + other for one, other in zip(pools[-1], last, strict=True))  # type: ignore[assignment]
    knots = [(total / count, (good + 1) / (count + 2)) for count, total, good in pools]
    # Smoothing shrinks small pools more than large ones, so the curve may fall; make it monotonic again.
    rising = np.maximum.accumulate([share for _, share in knots])
    return tuple((at, float(share)) for (at, _), share in zip(knots, rising, strict=True))


def confidence_of(knots: Knots, score: float) -> float:
    """Return the probability that a caption with this score is correct, by linear interpolation between the points.

    >>> confidence_of(((-2.0, 0.2), (-1.0, 0.8)), -1.5)
    0.5
    """
    at, shares = zip(*knots, strict=True)
    return float(np.interp(score, at, shares))


def mean_log_prob(log_probs: Sequence[float]) -> float:
    """Return the mean log-probability of the tokens of a caption, including its end."""
    return sum(log_probs) / max(len(log_probs), 1)
