"""Rankings of passages, and reciprocal rank fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SMOOTHING = 60
"""Constant of reciprocal rank fusion, as in the paper."""


class Ranking(NamedTuple):
    """Passage indices, best first, and their scores."""

    numbers: NDArray[np.int64]
    scores: NDArray[np.float32]

    @classmethod
    def nothing(cls) -> Ranking:
        """Return an empty ranking."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.float32))

    @classmethod
    def best(cls, numbers: NDArray[np.int64], scores: NDArray[np.float32], k: int) -> Ranking:
        """Return the k passages with the largest scores; ties are ordered by index.

        >>> Ranking.best(np.array([3, 5, 8]), np.array([1.0, 2.0, 1.0], np.float32), 2).numbers
        array([5, 3])
        """
        if k < len(scores):  # partitioning takes linear time; ties with the k-th score are kept for the sort below
            least = np.partition(scores, len(scores) - k)[len(scores) - k]
            chosen = scores >= least
            numbers, scores = numbers[chosen], scores[chosen]
        order = np.lexsort((numbers, -scores))[:k]
        return cls(numbers[order], scores[order])


def fused(rankings: Sequence[Ranking], k: int) -> Ranking:
    r"""Merge rankings by reciprocal rank fusion, which needs no common scale of scores.

    .. math:: s(d) = \sum_r \frac{1}{60 + \mathrm{rank}_r(d)}

    Cormack, Clarke & Buettcher 2009, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
    Methods".

    >>> one, other = Ranking(np.array([7, 4]), np.ones(2)), Ranking(np.array([4, 9]), np.ones(2))
    >>> fused([one, other], 2).numbers
    array([4, 7])
    """
    numbers = np.concatenate([one.numbers for one in rankings])
    gains = np.concatenate([1.0 / (SMOOTHING + 1 + np.arange(len(one.numbers))) for one in rankings])
    distinct, places = np.unique(numbers, return_inverse=True)
    return Ranking.best(distinct, np.bincount(places, gains, minlength=len(distinct)).astype(np.float32), k)
