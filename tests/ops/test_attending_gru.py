"""The loop of RNNsearch: torch's own parts one after the other, by hand; and its kernels.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_attending_gru.py runs the kernels without a GPU.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor, nn

from regard.ops.attending_gru import attending_gru
from tests.mechanism import assert_close, assert_within_budget, check_gradients

LENGTHS = (5, 2, 0)


def problem(steps: int, size: int, width: int, dim: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Inputs, hidden, key, value, joint weight and bias, weight; three sequences, the last with nothing to read."""
    shapes = [(steps, 3, 3 * dim), (3, dim), (3, size, width), (3, size, 3 * dim)]
    shapes += [(width + 3 * dim, dim), (width + 3 * dim,), (width,)]  # type: ignore[list-item]
    return [(0.5 * torch.randn(shape, dtype=torch.float64)).to(dtype).requires_grad_() for shape in shapes]


def loop(*given: Tensor, impl: str | None = None) -> tuple[Tensor, Tensor]:
    allowed = torch.arange(given[2].shape[1]) < torch.tensor(LENGTHS).unsqueeze(1)
    return attending_gru(*given[:4], allowed, *given[4:], impl=impl)


def by_parts(*given: Tensor) -> tuple[Tensor, Tensor]:
    """The definition, by torch's GRU cell with identities for weights, so that it is given gates as they are."""
    inputs, hidden, key, value, matrix, bias, weight = given
    width, dim = len(weight), hidden.shape[1]
    cell = nn.GRUCell(3 * dim, dim).to(inputs)
    states, weights = [], []
    for x in inputs:
        joint = hidden @ matrix.mT + bias
        energy = (key + joint[:, None, :width]).tanh() @ weight
        allowed = torch.arange(key.shape[1]) < torch.tensor(LENGTHS).unsqueeze(1)
        a = energy.masked_fill(~allowed, -torch.inf)[:2].softmax(1)
        a = torch.cat((a, torch.zeros_like(a[:1])))
        gates = x + (a.unsqueeze(1) @ value).squeeze(1)
        hidden = torch.gru_cell(
            gates, hidden, torch.eye(3 * dim).to(gates), matrix[width:], torch.zeros_like(cell.bias_ih), bias[width:]
        )
        states.append(hidden)
        weights.append(a)
    return torch.stack(states), torch.stack(weights)


def gradients(outcome: tuple[Tensor, Tensor], given: list[Tensor], upstream: list[Tensor]) -> list[Tensor]:
    return list(torch.autograd.grad(outcome, given, [part.to(outcome[0]) for part in upstream]))


def test_is_its_parts() -> None:
    given = problem(4, 5, 7, 3)
    upstream = [torch.randn(4, 3, 3), torch.randn(4, 3, 5)]
    ours, theirs = loop(*given), by_parts(*given)
    for mine, expected in zip(
        (*ours, *gradients(ours, given, upstream)), (*theirs, *gradients(theirs, given, upstream)), strict=True
    ):
        assert_close(mine, expected.detach(), tolerance=1e-10)


def test_gradients() -> None:
    check_gradients(loop, *problem(3, 5, 2, 2))


def test_a_row_with_nothing_to_read_is_a_plain_gru() -> None:
    given = problem(4, 5, 7, 3)
    states, weights = loop(*given)
    assert (weights[:, 2] == 0).all()
    given[3] = torch.full_like(given[3], 99.0)
    assert_close(loop(*given)[0][:, 2], states[:, 2].detach())


def test_no_second_derivative_is_a_wrong_one() -> None:
    given = problem(2, 5, 3, 2)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(loop(*given)[0].sum(), given[:1], create_graph=True)


def test_shapes_that_do_not_fit() -> None:
    given = problem(2, 5, 3, 2)
    with pytest.raises(ValueError, match=r"joint_weight must be \[9, 2\]; got \[3, 2\]"):
        loop(*given[:4], given[4][:3], *given[5:])


@pytest.mark.parametrize("sizes", [(3, 5, 7, 2), (2, 19, 33, 21), (2, 1, 16, 40)])
def test_kernels_are_as_exact_as_plain_pytorch(sizes: tuple[int, int, int, int]) -> None:
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if torch.get_default_device().type != "cuda" and not interpreted:
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")
    given = problem(*sizes, dtype=torch.float32)
    steps, size, _, dim = sizes
    upstream = [torch.randn(steps, 3, dim), torch.randn(steps, 3, size)]
    wide = [tensor.detach().double().requires_grad_() for tensor in given]
    found = [
        [*outcome, *gradients(outcome, leaves, upstream)]
        for outcome, leaves in (
            (loop(*given, impl="triton"), given),
            (loop(*given, impl="reference"), given),
            (by_parts(*wide), wide),
        )
    ]
    largest = max(float(tensor.detach().abs().max()) for tensor in found[2][2:])
    for place, (ours, plain, truth) in enumerate(zip(*found, strict=True)):
        assert_within_budget(ours, plain, truth, scale=None if place < 2 else largest)
