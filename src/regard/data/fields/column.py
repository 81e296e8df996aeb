"""Column: the stored values of one field of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Part(NamedTuple):
    """One file of a field: rows of values, with a fixed or variable number of rows per example.

    Attributes:
        name: suffix of the file name, such as `ids` in `source.ids`.
        dtype: NumPy dtype of the values.
        inner: shape of a row; () for scalars.
        rows: fixed number of rows per example; None if it varies and a second file contains the offsets.
    """

    name: str
    dtype: str = "int32"
    inner: tuple[int, ...] = ()
    rows: int | None = None


class EncodedRows(NamedTuple):
    """Concatenated rows of several examples.

    Attributes:
        values: rows of all examples, concatenated, [R, *inner].
        counts: number of rows of each example, [N].
        notes: one note per unusual file, such as a truncated one, with the file name.
    """

    values: NDArray[Any]
    counts: Ints
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Column:
    """Stored values of a field by part; example n has the rows `offsets[part][n]` to `offsets[part][n + 1]`.

    Attributes:
        values: values of each part, [R, *inner].
        offsets: row offsets of each part, [N + 1].
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
        """Return the single row of each of some examples, [B, *inner]."""
        found: NDArray[Any] = self.values[part][self.offsets[part][examples]]
        return found


def concatenate_rows(rows: Sequence[Sequence[Any]], dtype: str) -> EncodedRows:
    """Concatenate rows of numbers.

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
