"""Sparse matrix with fast products by rows and gradients by columns."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from regard.ops.dropout import scaled_dropout


@dataclass(frozen=True, eq=False)
class SparseRows:
    r"""Sparse matrix [N, C] with K entries, such as word counts of documents; it is data without gradient.

    Entries are stored by rows and by columns: a linear map of the rows uses the former, its gradient the latter. Both
    are weighted sums of rows of the other factor, K · D instead of N · C · D operations.

    Attributes:
        values: [K], entries by rows.
        columns: [K], column of each entry.
        row_ends: [N + 1], offset of the first entry of each row, then K.
        by_column: [K], entries by columns.
        rows: [K], row of each entry in that order.
        column_ends: [C + 1], offset of the first entry of each column in that order, then K.

    >>> rows = SparseRows.of(torch.tensor([2.0, 3.0]), torch.tensor([1, 0]), torch.tensor([0, 1, 1, 2]), width=4)
    >>> rows.to_dense()
    tensor([[0., 2., 0., 0.],
            [0., 0., 0., 0.],
            [3., 0., 0., 0.]])
    >>> rows.map(torch.tensor([[1.0, 10.0, 0.0, 0.0]])).flatten()
    tensor([20.,  0.,  3.])
    """

    values: Tensor
    columns: Tensor
    row_ends: Tensor
    by_column: Tensor
    rows: Tensor
    column_ends: Tensor

    @staticmethod
    def of(values: Tensor, columns: Tensor, row_ends: Tensor, width: int) -> SparseRows:
        """Construct from the arrays of a CSR matrix."""
        counts = row_ends.diff()
        rows = torch.arange(len(counts), device=counts.device).repeat_interleave(counts)
        by_column = columns.argsort(stable=True)
        ends = F.pad(columns.bincount(minlength=width).cumsum(0), (1, 0))
        return SparseRows(values, columns, row_ends, by_column, rows[by_column], ends)

    @property
    def shape(self) -> torch.Size:
        """[N, C]."""
        return torch.Size((len(self.row_ends) - 1, len(self.column_ends) - 1))

    def tensors(self) -> dict[str, Tensor]:
        """Return all tensors by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def dropout(self, share: float) -> SparseRows:
        """Apply dropout to the stored entries."""
        return replace(self, values=scaled_dropout(self.values, share))

    def map(self, weight: Tensor) -> Tensor:
        """Compute X Wᵀ [N, D] for a weight [D, C]."""
        mapped: Tensor = _Product.apply(self, weight)  # type: ignore[no-untyped-call]
        return mapped

    def to_dense(self) -> Tensor:
        """Return the dense matrix [N, C]."""
        dense = self.values.new_zeros(self.shape)
        return dense.index_put((self.rows, self.columns[self.by_column]), self.values[self.by_column], accumulate=True)


class _Product(torch.autograd.Function):
    """Product X Wᵀ with the gradient of W computed by columns."""

    @staticmethod
    def forward(ctx: Any, rows: SparseRows, weight: Tensor) -> Tensor:
        ctx.rows = rows
        return _sums(rows.columns, weight.T.contiguous(), rows.row_ends, rows.values)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        rows: SparseRows = ctx.rows
        values = rows.values.index_select(0, rows.by_column)
        return None, _sums(rows.rows, gradient.contiguous(), rows.column_ends, values).T


def _sums(which: Tensor, table: Tensor, ends: Tensor, weights: Tensor) -> Tensor:
    """Compute weighted sums of table rows; `ends` delimits the entries of each sum."""
    weights = weights.to(table.dtype)
    return F.embedding_bag(which, table, ends, mode="sum", per_sample_weights=weights, include_last_offset=True)
