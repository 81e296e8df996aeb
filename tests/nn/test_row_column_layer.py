"""A layer that sees rows and columns: the dense layer with most of its weights taken out."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.nn import RowColumnLayer
from tests.mechanism import assert_close, check_gradients

BATCH, ROWS, COLUMNS, ALONG, ACROSS = 2, 3, 5, 7, 11


def layer() -> RowColumnLayer:
    made = RowColumnLayer(ROWS, COLUMNS, row_units=ALONG, column_units=ACROSS).double()
    with torch.no_grad():
        made.bias.normal_()
    return made


def dense(pruned: RowColumnLayer) -> Tensor:
    """The same as one matrix [r, C, units] over all of M."""
    weight = torch.zeros(ROWS, COLUMNS, pruned.output_dim, dtype=torch.float64)
    for row in range(ROWS):
        weight[row, :, row * ALONG : (row + 1) * ALONG] = pruned.by_row[row]
    for column in range(COLUMNS):
        begin = ROWS * ALONG + column * ACROSS
        weight[:, column, begin : begin + ACROSS] = pruned.by_column[column]
    return weight


def test_it_is_a_dense_layer_with_weights_taken_out() -> None:
    pruned, matrix = layer(), torch.randn(BATCH, ROWS, COLUMNS).double()
    expected = matrix.flatten(1) @ dense(pruned).flatten(0, 1) + pruned.bias
    assert pruned(matrix).shape == (BATCH, ROWS * ALONG + COLUMNS * ACROSS)
    assert_close(pruned(matrix), expected, tolerance=1e-12)


def test_it_has_the_weights_that_the_paper_counts() -> None:
    pruned = layer()
    assert pruned.by_row.numel() + pruned.by_column.numel() == ROWS * COLUMNS * (ALONG + ACROSS)
    assert int((dense(pruned) != 0).sum()) == ROWS * COLUMNS * (ALONG + ACROSS)
    assert pruned.bias.numel() == pruned.output_dim == ROWS * ALONG + COLUMNS * ACROSS


def test_gradients() -> None:
    pruned = layer()
    check_gradients(
        lambda matrix, by_row, by_column: torch.func.functional_call(
            pruned, {"by_row": by_row, "by_column": by_column}, (matrix,)
        ),
        torch.randn(BATCH, ROWS, COLUMNS),
        pruned.by_row,
        pruned.by_column,
    )


def test_a_layer_without_units_is_refused() -> None:
    with pytest.raises(ValueError, match="Pruned: column_units must be at least 1; got 0"):
        RowColumnLayer(ROWS, COLUMNS, row_units=1, column_units=0)
