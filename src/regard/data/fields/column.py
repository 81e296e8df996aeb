"""Column: the stored values of one field of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Part(NamedTuple):
    """One file of a field: rows of values, any number of them per example.

    Attributes:
        name: last part of the name of the file: `source.ids`.
        dtype: type of the values, by NumPy's name.
        inner: shape of a row; () for single values.
        rows: rows per example where all examples have as many; None where a second file says where each begins.
    """

    name: str
    dtype: str = "int32"
    inner: tuple[int, ...] = ()
    rows: int | None = None


class EncodedRows(NamedTuple):
    """Rows of some examples.

    Attributes:
        values: rows of all examples one after another, [R, *inner].
        counts: number of rows of each example, [N].
        notes: a sentence per unusual file, such as one that is cut off; it names the file.
    """

    values: NDArray[Any]
    counts: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """All values of a field, by part; example n has rows `offsets[part][n]` to `offsets[part][n + 1]`.

    Attributes:
        values: [R, *inner] of each part.
        offsets: [N + 1] of each part.
    """

    values: Mapping[str, NDArray[Any]]
    offsets: Mapping[str, Ints]

    def counts(self, part: str) -> Ints:
        """Return the number of rows of each example, [N]."""
        return np.diff(self.offsets[part])

    def rows(self, part: str, examples: Ints) -> list[NDArray[Any]]:
        """Return the rows of some examples."""
        begins, ends = self.offsets[part][examples], self.offsets[part][examples + 1]
        return [self.values[part][begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    def single(self, part: str, examples: Ints) -> NDArray[Any]:
        """Return the one row of each of some examples, [B, *inner]."""
        found: NDArray[Any] = self.values[part][self.offsets[part][examples]]
        return found


def concatenate_rows(rows: Sequence[Sequence[Any]], dtype: str) -> EncodedRows:
    """Return rows of numbers one after another.

    >>> concatenate_rows([[7, 8], [], [9]], "int32")
    EncodedRows(values=array([7, 8, 9], dtype=int32), counts=array([2, 0, 1]), notes=())
    """
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    numbers: Iterable[Any] = (number for row in rows for number in row)
    return EncodedRows(np.fromiter(numbers, dtype, int(counts.sum())), counts)


def all_below(ids: NDArray[Any], limit: int) -> bool:
    """Return whether all ids are at least 0 and less than a limit.

    >>> [all_below(np.array(ids), 3) for ids in ([0, 2], [3], [-1], [])]
    [True, False, False, True]
    """
    return not ids.size or bool(ids.min() >= 0 and ids.max() < limit)
