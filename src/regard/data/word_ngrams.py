"""N-gram models of words, given as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_UNSEEN = -1


class NGramLevel(NamedTuple):
    """The n-grams of one length n, by rank.

    Attributes:
        keys: [N], sorted: rank of the first n - 1 words among those of length n - 1, times the number of words, plus
            the last word.
        counts: [N].
        totals, types: [N'], for each of those of length n - 1 the sum of the counts behind it, and their number.
    """

    keys: Ints
    counts: Ints
    totals: Ints
    types: Ints


@dataclass(frozen=True, eq=False)
class WordNGrams:
    r"""An n-gram model with Witten-Bell smoothing over sequences of numbers.

    .. math:: p(w \mid h) = \frac{c(hw) + T(h)\, p(w \mid h')}{c(h) + T(h)}

    h are the n - 1 words before w, h' is h without its first, c counts, and T(h) is the number of different words
    behind h. Below the empty h lies the uniform distribution over all words. Sequences begin with an empty h.

    Attributes:
        size: number of different words.
        levels: n-grams of length 1, 2, ...

    Witten & Bell 1991, method C; Chen & Goodman 1998, section 2.5.

    >>> model = WordNGrams.of([[0, 0, 1]], 3, order=2)
    >>> np.exp(model.log_probs([[0]])).round(4)                                # (2 + 2 / 3) / (3 + 2)
    array([0.5333])
    """

    size: int
    levels: tuple[NGramLevel, ...]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], size: int, *, order: int = 3, least: int = 1) -> WordNGrams:
        """Count sequences.

        Args:
            sequences: numbers from 0 to `size` - 1.
            size: number of different words.
            order: n.
            least: smallest count of n-grams of three words and more that are kept.
        """
        words, starts = _flat(sequences)
        ranks, levels, histories = np.zeros(len(words), np.int64), list[NGramLevel](), 1
        for length in range(1, order + 1):
            there = (np.arange(len(words)) - starts >= length - 1) & (ranks != _UNSEEN)
            keys, inverse, counts = np.unique(
                ranks[there] * size + words[there], return_inverse=True, return_counts=True
            )
            kept = counts >= (least if length > 2 else 1)
            prefix = keys[kept] // size
            totals = np.bincount(prefix, counts[kept], histories).astype(np.int64)
            levels.append(NGramLevel(keys[kept], counts[kept], totals, np.bincount(prefix, minlength=histories)))
            histories = int(kept.sum())
            mine = np.full(len(words), _UNSEEN, np.int64)
            mine[there] = np.where(kept, np.cumsum(kept) - 1, _UNSEEN)[inverse]
            ranks = np.concatenate(([_UNSEEN], mine[:-1]))  # of the words before each
        return cls(size, tuple(levels))

    def log_probs(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return log p of each sequence."""
        words, starts = _flat(sequences)
        found = np.full(len(words), 1.0 / self.size)
        history = np.zeros(len(words), np.int64)  # rank of the words before each, of the length of the level less one
        for length, level in enumerate(self.levels, start=1):
            if not len(level.keys):
                break
            known = (history != _UNSEEN) & (np.arange(len(words)) - starts >= length - 1)
            key = history * self.size + words
            place = np.searchsorted(level.keys, key).clip(max=len(level.keys) - 1)
            there = known & (level.keys[place] == key)
            counts = np.where(there, level.counts[place], 0)
            row = np.where(known, history, 0)
            totals, types = level.totals[row], level.types[row]
            seen = known & (totals > 0)
            found = np.where(seen, (counts + types * found) / np.maximum(totals + types, 1), found)
            history = np.concatenate(([_UNSEEN], np.where(there, place, _UNSEEN)[:-1]))
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        rows = np.repeat(np.arange(len(sequences)), lengths)
        return np.bincount(rows, np.log(found), len(sequences)).astype(np.float64)

    def arrays(self) -> dict[str, Ints]:
        """Return everything as arrays by name."""
        parts = {
            f"{number}.{name}": part
            for number, level in enumerate(self.levels)
            for name, part in level._asdict().items()
        }
        return {"size": np.array([self.size]), **parts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Ints]) -> WordNGrams:
        """Return the model of `arrays`."""
        count = sum(name.endswith(".keys") for name in arrays)
        levels = (NGramLevel(*(arrays[f"{number}.{name}"] for name in NGramLevel._fields)) for number in range(count))
        return cls(int(arrays["size"][0]), tuple(levels))


def _flat(sequences: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return all words one after another, and where the sequence of each begins."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    words = np.fromiter((word for one in sequences for word in one), np.int64, int(lengths.sum()))
    return words, np.repeat(np.cumsum(lengths) - lengths, lengths)
