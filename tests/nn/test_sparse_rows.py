"""Matrices that are almost all zeros."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.nn.sparse_rows import SparseRows
from tests.mechanism import assert_close, check_gradients


def random_rows(count: int = 7, width: int = 11, dtype: torch.dtype = torch.float64) -> SparseRows:
    """Some entries, a row without any, a column without any."""
    dense = torch.randn(count, width, dtype=dtype) * (torch.rand(count, width) < 0.3)
    dense[2], dense[:, 5] = 0.0, 0.0
    dense[0, 0] = 1.0
    return sparse(dense)


def sparse(dense: Tensor) -> SparseRows:
    kept = dense != 0
    ends = torch.cat((torch.zeros(1, dtype=torch.long), kept.sum(1).cumsum(0)))
    return SparseRows.of(dense[kept], kept.nonzero()[:, 1], ends, dense.shape[1])


def test_a_map_is_the_product_with_the_matrix() -> None:
    rows, weight = random_rows(), torch.randn(5, 11, dtype=torch.float64)
    assert rows.shape == (7, 11)
    assert_close(rows.map(weight), rows.to_dense() @ weight.T)
    assert (rows.map(weight)[2] == 0).all()


def test_gradients() -> None:
    rows = random_rows()
    check_gradients(rows.map, torch.randn(3, 11, dtype=torch.float64))
    weight = torch.randn(3, 11, dtype=torch.float64, requires_grad=True)
    rows.map(weight).square().sum().backward()
    expected = 2 * (rows.to_dense() @ weight.detach().T).T @ rows.to_dense()
    assert weight.grad is not None
    assert_close(weight.grad, expected)
    assert (weight.grad[:, 5] == 0).all()


def test_an_entry_that_is_given_twice_counts_twice() -> None:
    rows = SparseRows.of(torch.tensor([2.0, 3.0]), torch.tensor([1, 1]), torch.tensor([0, 2]), width=3)
    assert_close(rows.to_dense(), [[0.0, 5.0, 0.0]])
    assert_close(rows.map(torch.tensor([[0.0, 10.0, 0.0]])), [[50.0]])


def test_dropout_keeps_zeros_and_the_mean() -> None:
    torch.manual_seed(0)
    rows = sparse(torch.ones(100, 50))
    dropped = rows.dropout(0.75).to_dense()
    assert set(dropped.unique().tolist()) == {0.0, 4.0}
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.1)
    assert torch.equal(rows.dropout(0.0).to_dense(), rows.to_dense())
    half = random_rows()
    assert (half.dropout(0.5).to_dense()[half.to_dense() == 0] == 0).all()
