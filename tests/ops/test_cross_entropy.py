"""Cross-entropy: by hand, as torch has it, and its kernels.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_cross_entropy.py runs the kernels without a GPU.
"""

from __future__ import annotations

import math
import os

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.ops.cross_entropy import cross_entropy
from tests.mechanism import assert_within_budget, rounded_once

SIZES = [(5, 7), (3, 1025), (2, 4097), (1, 1)]


def problem(rows: int, words: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    """Logits of a few units, what is right, and which rows count: the last does not, where there are several."""
    logits = (3 * torch.randn(rows, words, dtype=torch.float64)).to(dtype)
    weight = torch.ones(rows)
    weight[1:][-1:] = 0
    return logits, torch.randint(0, words, (rows,)), weight


def learned(
    logits: Tensor, target: Tensor, weight: Tensor, smoothing: float, impl: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    leaf = logits.clone().requires_grad_()
    total, nll = cross_entropy(leaf, target, weight, smoothing=smoothing, impl=impl)
    assert not nll.requires_grad
    (gradient,) = torch.autograd.grad(1.5 * total, leaf)
    return total.detach(), nll, gradient


def the_kernels() -> None:
    if torch.get_default_device().type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")


def test_value_by_hand() -> None:
    logits = torch.tensor([[math.log(0.5), math.log(0.25), math.log(0.25)], [9.0, 9.0, 9.0]])
    total, nll = cross_entropy(logits, torch.tensor([1, 0]), torch.tensor([1.0, 0.0]), smoothing=0.3)
    assert float(nll) == pytest.approx(math.log(4))
    assert float(total) == pytest.approx(0.7 * math.log(4) + 0.1 * (math.log(2) + 2 * math.log(4)))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_it_is_that_of_torch(smoothing: float) -> None:
    logits, target, weight = problem(5, 7)
    total, nll, gradient = learned(logits, target, weight, smoothing)
    leaf = logits.clone().requires_grad_()
    wanted = F.cross_entropy(leaf[:4], target[:4], label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(total, wanted.detach())
    torch.testing.assert_close(nll, F.cross_entropy(logits[:4], target[:4], reduction="sum"))
    torch.testing.assert_close(gradient, torch.autograd.grad(1.5 * wanted, leaf)[0])


def test_half_precision_is_rounded_once() -> None:
    logits, target, weight = problem(5, 7, torch.bfloat16)
    total, _, gradient = learned(logits, target, weight, 0.1)
    assert total.dtype == torch.float32
    assert gradient.dtype == torch.bfloat16
    plain, truth = (learned(logits.to(dtype), target, weight, 0.1)[2] for dtype in (torch.float32, torch.float64))
    rounded_once(gradient, plain, truth)


def test_an_unknown_way_is_named() -> None:
    with pytest.raises(ValueError, match="no implementation 'cuda'; there are reference, triton"):
        cross_entropy(*problem(3, 5), impl="cuda")


class TestKernels:
    @pytest.fixture(autouse=True)
    def _possible(self) -> None:
        the_kernels()

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
    @pytest.mark.parametrize("size", SIZES, ids=str)
    def test_they_are_as_exact_as_plain_pytorch(
        self, size: tuple[int, int], dtype: torch.dtype, smoothing: float
    ) -> None:
        logits, target, weight = problem(*size, dtype)
        ours = learned(logits, target, weight, smoothing, "triton")
        plain, truth = (
            learned(logits.to(wide), target, weight, smoothing, "reference") for wide in (torch.float32, torch.float64)
        )
        for mine, theirs, true in zip(ours, plain, truth, strict=True):
            assert_within_budget(mine, theirs, true)
        assert ours[2].dtype == dtype

    def test_words_that_cannot_be_said(self) -> None:
        logits, target, weight = problem(3, 5000, torch.float32)
        logits[:, 1000:] = -torch.inf
        target %= 1000
        ours = learned(logits, target, weight, 0.0, "triton")
        theirs = learned(logits, target, weight, 0.0, "reference")
        torch.testing.assert_close(ours, theirs)
        assert (ours[2][:, 1000:] == 0).all()

    def test_rows_that_do_not_lie_behind_each_other(self) -> None:
        logits, target, weight = problem(6, 9, torch.float32)
        rows = logits.mT.contiguous().mT
        torch.testing.assert_close(
            learned(rows, target, weight, 0.1, "triton"), learned(logits, target, weight, 0.1, "triton")
        )

    def test_no_rows(self) -> None:
        total, nll, gradient = learned(*problem(0, 2000, torch.float32), 0.1, "triton")
        assert total == nll == 0
        assert gradient.shape == (0, 2000)
