"""Link candidates: all pairs of a source and a target word of a sentence pair (cells), in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Words = Sequence[str]


class SizeGroup(NamedTuple):
    """Sentence pairs with the same source length and the same target length.

    Attributes:
        source, target: I and J, the number of source and target words of each pair.
        pairs: indices of the pairs, [N].
        cells: indices of their cells, [N, J, I + 1].
    """

    source: int
    target: int
    pairs: Ints
    cells: Ints


class LinkCandidates:
    """Link candidates of each target word of a corpus: the null word and the words of its source sentence.

    The cells of a target word are contiguous, the null word first, and the target words of a pair follow each other: a
    pair of I and J words has J (I + 1) cells. Equal pairs of words share a lexicon entry. Sentence pairs with an empty
    side have no cells.

    Args:
        pairs: (source words, target words) of each pair.

    Attributes:
        entry: lexicon entry of each cell, [C].
        begin: first cell of each target word, [T].
        width: number of cells of each target word, I + 1, [T].
        pair: index of the sentence pair of each target word, [T].
        source_of: source word of each lexicon entry, 0 for the null word, [E].
        sizes: I and J of each pair, [N, 2].

    >>> cells = LinkCandidates([(["das", "Haus"], ["the", "house"]), (["das"], ["the"])])
    >>> cells.entry.tolist(), cells.begin.tolist()
    ([0, 2, 4, 1, 3, 5, 0, 2], [0, 3, 6])
    """

    def __init__(self, pairs: Sequence[tuple[Words, Words]]) -> None:
        counts = np.array([(len(source), len(target)) for source, target in pairs], np.int64).reshape(-1, 2)
        self.sizes = np.where(counts.min(1, keepdims=True) > 0, counts, 0)
        kept = [pair for pair, (words, _) in zip(pairs, self.sizes.tolist(), strict=True) if words]
        source, target = _Vocabulary(1), _Vocabulary(0)
        sources = np.array([number for words, _ in kept for number in (0, *source.ids(words))], np.int64)
        targets = np.array([number for _, words in kept for number in target.ids(words)], np.int64)
        self.pair = np.repeat(np.arange(len(pairs)), self.sizes[:, 1])  # [T]
        self.width = self.sizes[self.pair, 0] + 1
        self.begin = np.cumsum(self.width) - self.width
        lengths = np.where(self.sizes[:, 0] > 0, self.sizes[:, 0] + 1, 0)  # with the null word
        first = np.cumsum(lengths) - lengths
        place = np.arange(int(self.width.sum())) - np.repeat(self.begin, self.width)  # 0 is the null word
        read = sources[np.repeat(first[self.pair], self.width) + place]
        # One integer per (source word, target word): sorting integers is much faster than sorting rows.
        keys = read * max(1, len(target)) + np.repeat(targets, self.width)
        found, entry = np.unique(keys, return_inverse=True)
        # The largest array of an aligner: 32-bit indices halve its memory.
        self.entry = entry.astype(np.int32 if len(found) < 2**31 else np.int64)
        self.source_of = found // max(1, len(target))

    def __len__(self) -> int:
        return len(self.entry)

    @property
    def words(self) -> int:
        """Number T of target words."""
        return len(self.begin)

    def sums(self, values: Floats) -> Floats:
        """Return the sum over the cells of each target word, [T]."""
        return np.add.reduceat(values, self.begin) if self.words else np.zeros(0)

    def spread(self, values: Floats) -> Floats:
        """Repeat a value per target word [T] for each of its cells, [C]."""
        return np.repeat(values, self.width)

    def of_pair(self, number: int) -> slice:
        """Return the slice of the J (I + 1) cells of a pair."""
        return slice(int(self._pair_begins[number]), int(self._pair_begins[number + 1]))

    def blocks(self) -> Iterator[SizeGroup]:
        """Yield groups of sentence pairs of equal size, so that each group is one dense array."""
        order = np.lexsort((self.sizes[:, 1], self.sizes[:, 0]))
        order = order[self.sizes[order, 0] > 0]
        edges = np.flatnonzero((np.diff(self.sizes[order], axis=0) != 0).any(1)) + 1
        for pairs in np.split(order, edges) if len(order) else ():
            source, target = self.sizes[pairs[0]].tolist()
            inside = np.arange(target * (source + 1)).reshape(target, source + 1)
            yield SizeGroup(source, target, pairs, self._pair_begins[pairs][:, None, None] + inside)

    @cached_property
    def _pair_begins(self) -> Ints:
        return np.concatenate((np.zeros(1, np.int64), np.cumsum((self.sizes[:, 0] + 1) * self.sizes[:, 1])))


class _Vocabulary:
    """Word ids, in the order of first occurrence."""

    def __init__(self, first: int) -> None:
        self._numbers: dict[str, int] = {}
        self._first = first

    def ids(self, words: Words) -> list[int]:
        known = self._numbers
        return [known.setdefault(word, len(known) + self._first) for word in words]

    def __len__(self) -> int:
        return len(self._numbers) + self._first
