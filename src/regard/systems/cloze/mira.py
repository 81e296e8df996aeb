"""K-best MIRA: tunes weights of a few features so that right answers outscore wrong ones by a margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def tune_mira(
    lists: Sequence[Floats], right: Sequence[int], *, rounds: int = 30, step: float = 0.01, seed: int = 0
) -> Floats:
    r"""Return weights w of features f, learned from candidate lists with one right candidate each.

    .. math:: w \leftarrow w + \min\!\Big(\text{step},\ \frac{1 - w^\top (f^* - f')}{\|f^* - f'\|^2}\Big)\,(f^* - f')

    f* is the right candidate and f' the wrong one with the largest w·f; w does not change if the margin is at least 1.
    The weights are initialised to 1 for the first feature and 0 for the others, and averaged over all updates.

    Args:
        lists: features [K, F] of the K candidates of each question; K may vary.
        right: index of the right candidate of each question.
        rounds: number of passes over the questions.
        step: largest step size.
        seed: seed of the order of the questions.

    Cherry & Foster 2012, "Batch Tuning Strategies for Statistical Machine Translation", section 2.4; one right
    candidate takes the place of their hope, and each wrong one costs 1.

    >>> lists = [np.array([[0.0, 1.0], [0.5, 0.0]]), np.array([[0.2, 0.0], [0.0, 1.0]])]
    >>> weights = tune_mira(lists, [0, 1], step=0.1)
    >>> [int((one @ weights).argmax()) for one in lists]
    [0, 1]
    """
    size = lists[0].shape[1] if lists else 1
    weights = np.eye(size)[0]
    total, count, random = np.zeros(size), 0, np.random.default_rng(seed)
    usable = [number for number, one in enumerate(lists) if len(one) > 1]
    for _ in range(rounds):
        for number in random.permutation(usable):
            features, best = lists[number], right[number]
            scores = features @ weights
            scores[best] = -np.inf
            gap = features[best] - features[int(scores.argmax())]
            loss, square = 1.0 - float(weights @ gap), float(gap @ gap)
            if loss > 0 and square > 0:
                weights = weights + min(step, loss / square) * gap
            total, count = total + weights, count + 1
    return total / count if count else weights
