"""Mixture of several corpora, each with a sampling weight."""

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

_ROUNDS = 3  # hash stream of this module; `Batches` uses 1 and 2 for its shuffles


@dataclass(frozen=True)
class Mixture:
    """Concatenated examples of several corpora. Weights do not affect the stored data; see `repeat_rows`.

    Args:
        parts: the corpora.
        weights: number of times that an example of each corpus occurs per epoch.

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
        """The files of all corpora."""
        return tuple(chain.from_iterable(part.files for part in self.parts))

    @property
    def skipped(self) -> SkippedLines:
        """The skipped lines of all corpora."""
        each = [part.skipped for part in self.parts]
        return SkippedLines(
            sum(one.count for one in each), list(chain.from_iterable(one.first for one in each))[:NAMED]
        )

    def settings(self) -> str:
        """Return the settings of all corpora, without weights, on which ids do not depend."""
        return f"Mixture({', '.join(part.settings() for part in self.parts)})"

    def each(self, make: Callable[[Examples], Examples]) -> Mixture:
        """Return a mixture with a function applied to each corpus."""
        return replace(self, parts=tuple(map(make, self.parts)))

    def row_weights(self, counts: tuple[int, ...] | list[int]) -> NDArray[np.float64]:
        """Return the weight of each example, [N], from the number of examples of each part."""
        return np.repeat(np.array(self.weights), counts)

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(self.parts)


def repeat_rows(rows: NDArray[np.int64], weights: NDArray[np.float64], seed: int, epoch: int) -> NDArray[np.int64]:
    """Repeat each row by its weight; a fractional part is rounded up or down by a hash of row and epoch.

    >>> rows, weights = np.arange(4), np.array([2.0, 1.0, 0.5, 0.5])
    >>> [repeat_rows(rows, weights, seed=0, epoch=epoch).tolist() for epoch in (0, 4)]
    [[0, 0, 1, 3], [0, 0, 1]]
    """
    whole = np.floor(weights[rows])
    drawn = splitmix64(rows.astype(np.uint64), seed, epoch, _ROUNDS).astype(np.float64) / 2.0**64
    return np.repeat(rows, (whole + (drawn < weights[rows] - whole)).astype(np.int64))
