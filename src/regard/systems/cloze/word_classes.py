"""Word classes from neighbouring words: exchange clustering."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_LEAST = 5  # minimum frequency of a clustered word


def word_classes(
    sequences: Sequence[Sequence[int]], size: int, *, classes: int = 100, rounds: int = 3, least: int = _LEAST
) -> Ints:
    r"""Return a class for each of `size` words that maximises the likelihood of a class bigram model.

    .. math:: F = \sum_{g,h} N(g, h) \log N(g, h) - 2 \sum_g N(g) \log N(g)

    Words are first assigned to the classes round-robin, by decreasing frequency. In each round every word, the most
    frequent first, moves to the class that raises F most. Unknown words and those with fewer than `least` occurrences
    are in class 0.

    Args:
        sequences: word ids from 0 to `size` - 1.
        size: number of distinct words.
        classes: number of classes, including class 0.
        rounds: maximum number of passes over the words.
        least: minimum frequency of a clustered word.

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
    """Successors and predecessors of each word, with counts."""

    def __init__(self, first: Ints, second: Ints, size: int) -> None:
        self.behind, self.before = _grouped(first, second, size), _grouped(second, first, size)


def _grouped(first: Ints, second: Ints, size: int) -> tuple[Ints, Ints, Ints]:
    """Return the distinct successors of each word in CSR form: offsets, words, counts."""
    keys, counts = np.unique(first * size + second, return_counts=True)
    return np.searchsorted(keys // size, np.arange(size + 1)), keys % size, counts


def _classes_of(word: int, found: Ints, grouped: tuple[Ints, Ints, Ints], classes: int) -> NDArray[np.float64]:
    """Return how often each class occurs next to a word, [classes]."""
    offsets, words, counts = grouped
    part = slice(offsets[word], offsets[word + 1])
    beside = np.bincount(found[words[part]], counts[part], classes)
    return np.asarray(beside, np.float64)


def _move(word: int, found: Ints, neighbours: _Neighbours, table: NDArray[np.float64]) -> bool:
    """Move a word to its best class; return True if its class changed.

    For a word that follows itself, the neighbour is counted in the old class.
    """
    classes, old = len(table), int(found[word])
    behind = _classes_of(word, found, neighbours.behind, classes)
    before = _classes_of(word, found, neighbours.before, classes)
    # Take the word out of its class, so that `gain` compares all classes, the old one included, on equal terms.
    table[old] -= behind
    table[:, old] -= before
    gain = _gain(table, behind) + _gain(table.T, before)
    # The class totals occur in F with a negative sign, as first and as second word of a bigram.
    gain -= _entropy(table.sum(1) + behind.sum()) - _entropy(table.sum(1))
    gain -= _entropy(table.sum(0) + before.sum()) - _entropy(table.sum(0))
    gain[0] = -np.inf  # class 0 is reserved for rare words
    new = int(gain.argmax())
    new = old if gain[new] <= gain[old] + 1e-9 else new  # the tolerance stops rounding errors from moving words forever
    table[new] += behind
    table[:, new] += before
    found[word] = new
    return new != old


def _gain(table: NDArray[np.float64], added: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the increase of Σ N log N if the counts are added to each row, [classes]."""
    some = np.flatnonzero(added)  # the other columns do not change
    here = table[:, some]
    found: NDArray[np.float64] = (_entropy(here + added[some]) - _entropy(here)).sum(1)
    return found


def _entropy(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return N log N of each count; 0 for counts below 1, which a subtraction may leave."""
    return counts * np.log(np.maximum(counts, 1.0))
