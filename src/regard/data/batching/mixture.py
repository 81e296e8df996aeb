"""Several corpora as one, each with a weight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64
from regard.data.example import Example, Examples
from regard.data.problems import NAMED, DataError, SkippedLines

_ROUNDS = 3  # apart from the orders of `Batches`, which are drawn with 1 and 2


@dataclass(frozen=True)
class Mixture:
    """Examples of several corpora one after another. Weights are no part of them: see `repeated`.

    Args:
        parts: the corpora.
        weights: how often an example of each is learned from in an epoch.

    >>> from regard.systems.translation.digits import Digits
    >>> both = Mixture((Digits("copy", size=2), Digits("reverse", size=3)), (3.0, 0.5))
    >>> len(list(both)), both.row_weights([2, 3]).tolist()
    (5, [3.0, 3.0, 0.5, 0.5, 0.5])
    """

    parts: tuple[Examples, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.weights) or not self.parts or min(self.weights) <= 0:
            raise DataError(f"{len(self.parts)} corpora have the weights {self.weights}; each has one above 0")

    @property
    def files(self) -> tuple[Path, ...]:
        """Those of all corpora."""
        return tuple(chain.from_iterable(part.files for part in self.parts))

    @property
    def skipped(self) -> SkippedLines:
        """Lines that all corpora left out."""
        each = [part.skipped for part in self.parts]
        return SkippedLines(
            sum(one.count for one in each), list(chain.from_iterable(one.first for one in each))[:NAMED]
        )

    def settings(self) -> str:
        """Those of all corpora; ids do not depend on weights."""
        return f"Mixture({', '.join(part.settings() for part in self.parts)})"

    def each(self, make: Callable[[Examples], Examples]) -> Mixture:
        """The mixture of what is made of each corpus."""
        return replace(self, parts=tuple(map(make, self.parts)))

    def row_weights(self, counts: tuple[int, ...] | list[int]) -> NDArray[np.float64]:
        """The weight of each row of a corpus that has so many rows of each part, [N]."""
        return np.repeat(np.array(self.weights), counts)

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(self.parts)


def repeat_rows(rows: NDArray[np.int64], weights: NDArray[np.float64], seed: int, epoch: int) -> NDArray[np.int64]:
    """Rows as often as an epoch learns from them: w times, or for a fraction as often as a hash of row and epoch says.

    >>> rows, weights = np.arange(4), np.array([2.0, 1.0, 0.5, 0.5])
    >>> [repeat_rows(rows, weights, seed=0, epoch=epoch).tolist() for epoch in (0, 4)]
    [[0, 0, 1, 3], [0, 0, 1]]
    """
    whole = np.floor(weights[rows])
    drawn = splitmix64(rows.astype(np.uint64), seed, epoch, _ROUNDS).astype(np.float64) / 2.0**64
    return np.repeat(rows, (whole + (drawn < weights[rows] - whole)).astype(np.int64))
