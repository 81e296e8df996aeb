"""Lazy tables, computed or loaded in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.ops.weights import Weights


@dataclass(frozen=True)
class LazyRows:
    """Table [R, C] whose rows are computed, or loaded from a file, only when they are drawn.

    Attributes:
        shape: R and C.
        make: returns the rows from `first` to before `last`, [n, C].

    >>> eye = LazyRows((4, 4), lambda first, last: torch.eye(4)[first:last])
    >>> eye.read(1, 2)
    array([[0., 1., 0., 0.]], dtype=float32)
    """

    shape: tuple[int, int]
    make: Callable[[int, int], Any]

    def read(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the rows from `first` to before `last` in float32.

        Raises:
            ValueError: wrong shape, or values that are not numeric.
        """
        made = to_float32(self.make(first, last))
        if made.shape != (last - first, self.shape[1]):
            raise ValueError(
                f"rows {first} to {last - 1} of a table {list(self.shape)} must be "
                f"[{last - first}, {self.shape[1]}]; got {list(made.shape)}"
            )
        if not np.isfinite(made).all():
            row, column = np.argwhere(~np.isfinite(made))[0].tolist()
            raise ValueError(f"row {first + row}, column {column} is {made[row, column]}; a view needs finite numbers")
        return made


def as_lazy_rows(table: Any) -> LazyRows:
    """Convert a table to lazy rows.

    Args:
        table: a tensor or array [R, C]; captured weights of one sequence; a `LazyRows`; or any two-dimensional
            object with `shape` and row slices, such as a `numpy.memmap` or an HDF5 dataset.

    >>> as_lazy_rows([[0.5, 0.5]]).shape
    (1, 2)
    """
    if isinstance(table, LazyRows):
        return table
    if isinstance(table, Weights):
        batch, heads, queries, keys = table.shape
        if batch * heads != 1:
            raise ValueError(f"a map is one sequence and one head; these weights are of {batch} and {heads}")
        return LazyRows((queries, keys), lambda first, last: table.weights(rows=slice(first, last)).reshape(-1, keys))
    if not hasattr(table, "shape"):
        table = np.asarray(table, np.float32)
    if len(table.shape) != 2:
        raise ValueError(f"a map must be [rows, columns]; got {list(table.shape)}")
    return LazyRows((int(table.shape[0]), int(table.shape[1])), lambda first, last: table[first:last])


def to_float32(values: Any) -> NDArray[np.float32]:
    """Return numbers as an array in float32, from any device and type."""
    if isinstance(values, Tensor):
        return np.ascontiguousarray(values.detach().to("cpu", torch.float32).numpy())
    return np.ascontiguousarray(values, dtype=np.float32)
