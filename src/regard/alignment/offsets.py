"""Agreement of attention with word links per row offset, which detects attention that is off by one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from regard.alignment.attention_links import Weights
from regard.alignment.links import Links

OFFSETS = (-2, -1, 0, 1, 2)

ByShift = Callable[[int], Weights]
"""Function from a row offset to the attention between the words of a pair, [J, I]."""


class OffsetScore(NamedTuple):
    """Agreement of attention with links at one row offset.

    Attributes:
        offset: d; target word j is compared with the attention of step j + d.
        match: fraction of linked target words whose largest weight is on one of their linked source words.
        mass: mean attention mass on the linked source words.
        words: number of linked target words with a row in range.
    """

    offset: int
    match: float
    mass: float
    words: int


def offset_scores(
    attention: Iterable[ByShift], links: Iterable[Links], offsets: Sequence[int] = OFFSETS
) -> list[OffsetScore]:
    """Compare attention with word links for several row offsets (Koehn & Knowles 2017, section 3.5, table 5).

    Target words without a link or with a shifted row out of range are ignored.

    Args:
        attention: per sentence pair, a function from an offset to the weights between words, [J, I].
        links: the reference links of each sentence pair.
        offsets: the row offsets to compare.

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
    """Return the number of matches, the mass on links and the number of words of one sentence pair."""
    by_target: dict[int, list[int]] = {}
    for source, target in links:
        by_target.setdefault(target, []).append(source)
    match = mass = 0.0
    words = 0
    for target, sources in by_target.items():
        if weights[target].any():  # a row out of range is all zeros
            words += 1
            match += int(weights[target].argmax()) in sources
            mass += float(weights[target, sources].sum())
    return match, mass, words
