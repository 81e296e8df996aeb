"""Unit vectors: by hand, their gradient, and the kernels.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_unit_vectors.py runs the kernels without a GPU.
"""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from regard.ops.unit_vectors import unit_vectors
from tests.mechanism import assert_within_budget

SHAPES = [(2, 3, 5, 7), (1, 2, 37, 64), (2, 1, 3, 129), (1, 1, 2, 1024), (3, 1, 1, 1)]


def learned(vectors: Tensor, upstream: Tensor, impl: str | None) -> tuple[Tensor, Tensor]:
    """Unit vectors, and the gradient of the vectors."""
    leaf = vectors.detach().requires_grad_()
    made = unit_vectors(leaf, softness=1e-6, impl=impl)
    (gradient,) = torch.autograd.grad(made, leaf, upstream.to(made.dtype))
    return made.detach(), gradient


def the_kernels() -> None:
    if torch.get_default_device().type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")


def test_value_by_hand() -> None:
    made = unit_vectors(torch.tensor([[[[3.0, 4.0], [0.0, 0.0]]]]), softness=1e-6) / 2**0.5
    torch.testing.assert_close(made, torch.tensor([[[[0.6, 0.8], [0.0, 0.0]]]]))


def test_the_gradient() -> None:
    vectors = torch.randn(2, 3, 5, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: unit_vectors(x, softness=0.1), [vectors])


def test_a_gradient_turns_a_vector_and_does_not_lengthen_it() -> None:
    vectors = torch.randn(2, 3, 5, 7, dtype=torch.float64)
    _, gradient = learned(vectors, torch.randn(2, 3, 5, 7), None)
    torch.testing.assert_close((vectors * gradient).sum(-1), torch.zeros(2, 3, 5, dtype=torch.float64))


def test_an_unknown_way_is_named() -> None:
    with pytest.raises(ValueError, match=r"unit_vectors: .*'best'"):
        unit_vectors(torch.ones(1, 1, 1, 2), softness=1e-6, impl="best")


class TestKernels:
    @pytest.fixture(autouse=True)
    def only_where_they_run(self) -> None:
        the_kernels()

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_they_are_as_exact_as_pytorch(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        vectors, upstream = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
        truth = learned(vectors.double(), upstream, "reference")
        plain, actual = learned(vectors, upstream, "reference"), learned(vectors, upstream, "triton")
        for true, worse, mine in zip(truth, plain, actual, strict=True):
            assert mine.dtype == dtype
            assert_within_budget(mine, worse, true, roundings=2)

    def test_vectors_that_do_not_lie_behind_each_other(self) -> None:
        larger = torch.full((3, 5, 4, 18), torch.nan)
        vectors = larger.transpose(1, 2)[1:, :3, ::2, 1:15:2]
        vectors.copy_(torch.randn(2, 3, 3, 7))
        upstream = torch.randn(2, 3, 7, 3).mT
        truth = learned(vectors.double().contiguous(), upstream, "reference")
        for true, mine in zip(truth, learned(vectors, upstream, "triton"), strict=True):
            torch.testing.assert_close(mine, true.float())

    def test_zeros_and_no_vectors(self) -> None:
        made, gradient = learned(torch.zeros(1, 1, 2, 3), torch.ones(1, 1, 2, 3), "triton")
        assert not made.any()
        assert gradient.isfinite().all()
        assert unit_vectors(torch.zeros(2, 0, 3, 5), softness=1e-6, impl="triton").shape == (2, 0, 3, 5)
