"""N-gram language models over sequences of word ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_UNSEEN = -1


class NGramLevel(NamedTuple):
    """N-grams of one length n, by rank in sorted order.

    Attributes:
        keys: sorted keys, [N]: the rank of the first n - 1 words among the (n - 1)-grams, times the vocabulary size,
            plus the id of the last word.
        counts: count of each n-gram, [N].
        totals, types: for each (n - 1)-gram, the sum of the counts of its continuations and their number, [N'].
    """

    keys: Ints
    counts: Ints
    totals: Ints
    types: Ints


@dataclass(frozen=True, eq=False)
class WordNGrams:
    r"""N-gram model with Witten-Bell smoothing over sequences of ids.

    .. math:: p(w \mid h) = \frac{c(hw) + T(h)\, p(w \mid h')}{c(h) + T(h)}

    h are the n - 1 words before w, h' is h without its first word, c are counts, and T(h) is the number of distinct
    words after h. The empty h backs off to the uniform distribution over all words. Sequences start with an empty h.

    Attributes:
        size: vocabulary size.
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
        """Estimate a model from sequences.

        Args:
            sequences: word ids from 0 to `size` - 1.
            size: vocabulary size.
            order: n.
            least: minimum count of n-grams with three or more words; rarer ones are dropped.
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
            ranks = np.concatenate(([_UNSEEN], mine[:-1]))  # rank of the preceding words
        return cls(size, tuple(levels))

    def log_probs(self, sequences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return log p of each sequence."""
        words, starts = _flat(sequences)
        found = np.full(len(words), 1.0 / self.size)
        history = np.zeros(len(words), np.int64)  # rank of the preceding n - 1 words at level n
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
        """Return the model as arrays by name."""
        parts = {
            f"{number}.{name}": part
            for number, level in enumerate(self.levels)
            for name, part in level._asdict().items()
        }
        return {"size": np.array([self.size]), **parts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Ints]) -> WordNGrams:
        """Restore a model from the result of `arrays`."""
        count = sum(name.endswith(".keys") for name in arrays)
        levels = (NGramLevel(*(arrays[f"{number}.{name}"] for name in NGramLevel._fields)) for number in range(count))
        return cls(int(arrays["size"][0]), tuple(levels))


def _flat(sequences: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Concatenate the sequences; return all words, and for each the start of its sequence."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    words = np.fromiter((word for one in sequences for word in one), np.int64, int(lengths.sum()))
    return words, np.repeat(np.cumsum(lengths) - lengths, lengths)
