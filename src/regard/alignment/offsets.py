"""Agreement of attention with word links, by offset: is it off by one?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from regard.alignment.attention_links import Weights
from regard.alignment.links import Links

OFFSETS = (-2, -1, 0, 1, 2)

ByShift = Callable[[int], Weights]
"""Attention between words [J, I] of a pair, for a shift of its rows."""


class OffsetScore(NamedTuple):
    """Agreement of attention with links when the rows of attention are shifted.

    Attributes:
        offset: d: word j is compared with the attention of step j + d.
        match: share of linked target words whose source word of largest weight is one of their links.
        mass: mean weight on the linked source words.
        words: number of linked target words that have a row.
    """

    offset: int
    match: float
    mass: float
    words: int


def offset_scores(
    attention: Iterable[ByShift], links: Iterable[Links], offsets: Sequence[int] = OFFSETS
) -> list[OffsetScore]:
    """Compare attention with word links (Koehn & Knowles 2017, section 3.5, table 5), by offset.

    Target words without a link, and those whose shifted row is outside, do not count.

    Args:
        attention: of each pair: from an offset to weights between words [J, I].
        links: of each pair.
        offsets: rows to shift by.

    >>> late = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 0.8]])                     # each step looks one word back
    >>> shifted = lambda d: np.stack([late[j + d] if 0 <= j + d < 3 else np.zeros(2) for j in range(2)])
    >>> for score in offset_scores([shifted], [frozenset({(0, 0), (1, 1)})], offsets=(0, 1)):
    ...     print(score.offset, score.match, score.mass)
    0 0.0 0.0
    1 1.0 0.9
    """
    totals = np.zeros((len(offsets), 3))
    for by_shift, found in zip(attention, links, strict=True):
        for row, offset in enumerate(offsets):
            totals[row] += _agreement(by_shift(offset), found)
    return [
        OffsetScore(offset, match / max(words, 1), mass / max(words, 1), int(words))
        for offset, (match, mass, words) in zip(offsets, totals.tolist(), strict=True)
    ]


def _agreement(weights: Weights, links: Links) -> tuple[float, float, int]:
    """Return the matches, the mass on links, and the number of words, of one pair."""
    by_target: dict[int, list[int]] = {}
    for source, target in links:
        by_target.setdefault(target, []).append(source)
    match = mass = 0.0
    words = 0
    for target, sources in by_target.items():
        if weights[target].any():
            words += 1
            match += int(weights[target].argmax()) in sources
            mass += float(weights[target, sources].sum())
    return match, mass, words
