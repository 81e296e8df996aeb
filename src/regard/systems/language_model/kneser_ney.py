"""N-grams with modified Kneser-Ney smoothing: the baseline of language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_BEGIN = 0
"""Id of the padding before every text; tokens are numbered from 1."""


class KneserNey:
    r"""Interpolated n-gram model with modified Kneser-Ney smoothing.

    .. math:: p_n(w \mid h) = \frac{\max(c(hw) - D(c(hw)), 0)}{\sum_v c(hv)}
              + \frac{\sum_{i=1}^{3} D_i N_i(h)}{\sum_v c(hv)}\; p_{n-1}(w \mid h')

    h are the n - 1 tokens before w, and h' is h without its first token. For the longest n-grams, and for those at the
    beginning of a text, c counts occurrences; for shorter ones it counts the distinct tokens before hw. N_i(h) is the
    number of tokens that follow h once, twice, or at least three times. D_1, D_2 and D_3 are estimated from the numbers
    of n-grams that occur one to four times. p_0 is uniform. Rare n-grams are not pruned.

    Args:
        texts: token ids of each text, from 0.
        size: vocabulary size V.
        order: n of the longest n-grams.

    Chen & Goodman 1998, "An Empirical Study of Smoothing Techniques for Language Modeling", section 3; Kneser & Ney
    1995.

    >>> model = KneserNey([np.array([0, 1, 0, 2]), np.array([0, 1, 1])], size=3, order=2)
    >>> every = [np.array([0, word]) for word in range(3)]
    >>> round(sum(float(model.probabilities([one])[-1]) for one in every), 12)
    1.0
    """

    def __init__(self, texts: Sequence[Ints], *, size: int, order: int = 5) -> None:
        if order < 1:
            raise ValueError(f"order must be at least 1; got {order}")
        self.size, self.order = size + 1, order
        stream, ends = _stream(texts, order)
        grams = np.zeros(len(stream), np.int64)  # number of the n-gram that ends at each position; all equal for n = 0
        self.keys: list[Ints] = []
        ends_by_order: list[Ints] = []
        for length in range(1, order + 1):
            firsts = _shifted(stream, length - 1)
            unique, grams = np.unique(grams * self.size + firsts, return_inverse=True)
            self.keys.append(unique)
            ends_by_order.append(grams)
        self.levels = [self._level(length, ends_by_order, stream, ends) for length in range(1, order + 1)]

    def _level(self, length: int, grams: list[Ints], stream: Ints, ends: Ints) -> _NGramCounts:
        """Count the n-grams of one length; a history has its number among the n-grams shorter by one."""
        mine, total = grams[length - 1], len(self.keys[length - 1])
        ends = ends[_reaches(stream, ends, length)]
        occurrences = np.bincount(mine[ends], minlength=total)
        if length == self.order:
            counts = occurrences
        else:
            reaching = ends[_reaches(stream, ends, length + 1)]
            longer = np.unique(grams[length][reaching])  # distinct n-grams with one more token in front
            counts = np.bincount(self.keys[length][longer] // self.size, minlength=total)
            # Nothing precedes an n-gram at the beginning of a text, so its occurrences are counted.
            begins = np.zeros(total, bool)
            begins[mine[ends]] = _shifted(stream, length - 1)[ends] == _BEGIN
            counts = np.where(begins, occurrences, counts)
        histories = np.zeros(total, np.int64)
        if length > 1:
            histories[mine[ends]] = grams[length - 2][ends - 1]
        return _NGramCounts.of(counts, histories, 1 if length == 1 else len(self.keys[length - 2]))

    def probabilities(self, texts: Sequence[Ints]) -> Floats:
        """Return the probability of each token given its predecessors, with all texts concatenated."""
        stream, ends = _stream(texts, self.order)
        grams = np.zeros(len(stream), np.int64)
        found = np.full(len(ends), 1.0 / (self.size - 1))
        for length, level in enumerate(self.levels, start=1):
            histories = np.zeros(len(ends), np.int64) if length == 1 else grams[ends - 1]
            histories = np.where(_reaches(stream, ends, length), histories, -1)
            grams = _looked_up(self.keys[length - 1], grams, _shifted(stream, length - 1), self.size)
            found = level.interpolated(grams[ends], histories, found)
        return found

    def perplexity(self, texts: Sequence[Ints]) -> float:
        """Return the perplexity of texts, exp of the mean -log p per token."""
        return float(np.exp(-np.log(self.probabilities(texts)).mean()))


class _NGramCounts(NamedTuple):
    """Counts of the n-grams of one length.

    Attributes:
        discounted: c - D(c) of each n-gram, at least 0.
        totals: Σ_v c(hv) of each history; 0 if nothing follows it.
        rest: discounted fraction of each history, the interpolation weight of shorter n-grams.
    """

    discounted: Floats
    totals: Ints
    rest: Floats

    @classmethod
    def of(cls, counts: Ints, histories: Ints, size: int) -> _NGramCounts:
        discounts = _discounts(counts)[np.minimum(counts, 3)]
        totals = np.bincount(histories, counts, minlength=size).astype(np.int64)
        lost = np.bincount(histories, np.minimum(discounts, counts), minlength=size)
        return cls(np.maximum(counts - discounts, 0.0), totals, lost / np.maximum(totals, 1))

    def interpolated(self, grams: Ints, histories: Ints, shorter: Floats) -> Floats:
        """Interpolate n-grams with shorter ones; -1 is an unknown n-gram, and unknown histories back off."""
        known = histories >= 0
        totals = np.where(known, self.totals[np.maximum(histories, 0)], 0)
        seen = np.where(grams >= 0, self.discounted[np.maximum(grams, 0)], 0.0)
        mixed = seen / np.maximum(totals, 1) + self.rest[np.maximum(histories, 0)] * shorter
        return np.where(totals > 0, mixed, shorter)


def _discounts(counts: Ints) -> Floats:
    """Return the discounts [4] of n-grams that occur never, once, twice, and at least three times.

    With few n-grams an estimate may be undefined, or outside the range from 0 to the count; it is 1/2 then.
    """
    one, two, three, four = (float((counts == times).sum()) for times in (1, 2, 3, 4))
    ratio = one / (one + 2 * two) if one else 0.0
    pairs = ((1, one, two), (2, two, three), (3, three, four))
    found = [times - (times + 1) * ratio * more / less if less else 0.5 for times, less, more in pairs]
    bounded = [value if 0.0 < value < times else 0.5 for times, value in enumerate(found, start=1)]
    return np.array([0.0, *bounded])


def _stream(texts: Sequence[Ints], order: int) -> tuple[Ints, Ints]:
    """Return all texts as one array of ids from 1, each after padding, and the positions of the tokens in it."""
    sizes = np.array([len(text) for text in texts], np.int64)
    pad = max(order - 1, 1)
    stream = np.zeros(int(sizes.sum()) + pad * len(texts), np.int64)
    texts_of = np.repeat(np.arange(len(texts)), sizes)
    ends = np.arange(int(sizes.sum())) + pad * (texts_of + 1)
    stream[ends] = np.concatenate([*texts, np.zeros(0, np.int64)]) + 1
    return stream, ends


def _reaches(stream: Ints, ends: Ints, length: int) -> NDArray[np.bool_]:
    """Return a mask of the n-grams, by their last positions, that contain padding at most as their first token."""
    return np.ones(len(ends), bool) if length < 3 else _shifted(stream, length - 2)[ends] != _BEGIN


def _shifted(stream: Ints, by: int) -> Ints:
    """Return the stream shifted right by `by` positions, filled with padding."""
    return stream if by == 0 else np.concatenate((np.full(by, _BEGIN), stream[:-by]))


def _looked_up(keys: Ints, shorter: Ints, firsts: Ints, size: int) -> Ints:
    """Return the number of each n-gram, from the number of its last n - 1 tokens and its first; -1 if unknown."""
    wanted = np.where(shorter >= 0, shorter * size + firsts, -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)
