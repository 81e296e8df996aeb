"""Classes of words by the words around them: exchange clustering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_LEAST = 5  # occurrences of a word that is clustered


def word_classes(
    sequences: Sequence[Sequence[int]], size: int, *, classes: int = 100, rounds: int = 3, least: int = _LEAST
) -> Ints:
    r"""Return a class for each of `size` words, so that a bigram model of classes has the largest likelihood.

    .. math:: F = \sum_{g,h} N(g, h) \log N(g, h) - 2 \sum_g N(g) \log N(g)

    Words begin in classes by their frequency, in turn. In each round every word, the most frequent first, moves to the
    class that raises F most. Words with fewer than `least` occurrences, and unknown ones, are class 0.

    Args:
        sequences: numbers from 0 to `size` - 1.
        size: number of different words.
        classes: number of classes, class 0 among them.
        rounds: how often every word may move.
        least: smallest number of occurrences of a word that is clustered.

    Martin, Liermann & Ney 1998, "Algorithms for bigram and trigram word clustering", section 3; mkcls (Och 1999) does
    the same with annealing.

    >>> text = [[1, 2, 3, 4], [3, 4, 1, 4], [1, 4, 3, 2]] * 5    # 2 and 4 follow 1 and 3
    >>> found = word_classes(text, 5, classes=3)
    >>> bool(found[1] == found[3] != found[2] == found[4])
    True
    """
    first = np.array([word for one in sequences for word in one[:-1]], np.int64)
    second = np.array([word for one in sequences for word in one[1:]], np.int64)
    counts = np.bincount(np.concatenate((first, second)), minlength=size)
    order = [int(word) for word in np.argsort(-counts, kind="stable") if counts[word] >= least]
    found = np.zeros(size, np.int64)
    for place, word in enumerate(order):
        found[word] = 1 + place % max(classes - 1, 1)
    if classes < 3 or not order:
        return np.minimum(found, classes - 1)
    neighbours = _Neighbours(first, second, size)
    table = np.zeros((classes, classes))
    np.add.at(table, (found[first], found[second]), 1.0)
    for _ in range(rounds):
        moved = sum(_move(word, found, neighbours, table) for word in order)
        if not moved:
            break
    return found


class _Neighbours:
    """The words behind and before each word, with counts."""

    def __init__(self, first: Ints, second: Ints, size: int) -> None:
        self.behind, self.before = _grouped(first, second, size), _grouped(second, first, size)


def _grouped(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return, word by word, the different words that follow it: offsets, words, counts."""
    keys, counts = np.unique(first * size + second, return_counts=True)
    return np.searchsorted(keys // size, np.arange(size + 1)), keys % size, counts


def _classes_of(word: int, found: Ints, grouped: tuple[Ints, Ints, Ints], classes: int) -> NDArray[np.float64]:
    """Return how often each class stands beside a word."""
    offsets, words, counts = grouped
    part = slice(offsets[word], offsets[word + 1])
    beside = np.bincount(found[words[part]], counts[part], classes)
    return np.asarray(beside, np.float64)


def _move(word: int, found: Ints, neighbours: _Neighbours, table: NDArray[np.float64]) -> bool:
    """Put a word into its best class, and say whether it moved.

    A word that follows itself is counted as if its neighbour stayed where it was.
    """
    classes, old = len(table), int(found[word])
    behind = _classes_of(word, found, neighbours.behind, classes)
    before = _classes_of(word, found, neighbours.before, classes)
    table[old] -= behind
    table[:, old] -= before
    gain = _gain(table, behind) + _gain(table.T, before)
    gain -= _entropy(table.sum(1) + behind.sum()) - _entropy(table.sum(1))
    gain -= _entropy(table.sum(0) + before.sum()) - _entropy(table.sum(0))
    gain[0] = -np.inf  # rare words stay among themselves
    new = int(gain.argmax())
    new = old if gain[new] <= gain[old] + 1e-9 else new
    table[new] += behind
    table[:, new] += before
    found[word] = new
    return new != old


def _gain(table: NDArray[np.float64], added: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much Σ N log N grows if the counts are added to each row."""
    some = np.flatnonzero(added)
    here = table[:, some]
    found: NDArray[np.float64] = (_entropy(here + added[some]) - _entropy(here)).sum(1)
    return found


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return N log N of each count; 0 where a subtraction left less than nothing."""
    return counts * np.log(np.maximum(counts, 1.0))
