"""The CTC loss that a CUDA graph can capture: against PyTorch's, and by finite differences."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.cuda_capture import recording
from regard.ops.ctc import ctc_losses
from regard.ops.ctc.captured import CapturedCTC
from tests.mechanism import assert_close

TARGETS = torch.tensor([[1, 2, 2, 4, 3], [3, 3, 1, 1, 1], [2, 4, 4, 4, 4], [4, 4, 4, 4, 1], [1, 1, 1, 1, 1]])
FRAMES, LABELS = torch.tensor([13, 7, 3, 5, 0]), torch.tensor([5, 2, 1, 4, 0])  # the fourth is impossible


def losses(logits: Tensor, *, captured: bool, blank: int = 0) -> Tensor:
    log_probs = logits.log_softmax(-1)
    if not captured:
        return ctc_losses(log_probs, TARGETS, FRAMES, LABELS, blank=blank)
    with recording():
        return ctc_losses(log_probs, TARGETS, FRAMES, LABELS, blank=blank)


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("blank", [0, 5])
def test_losses_and_gradients_are_those_of_pytorch(dtype: torch.dtype, tolerance: float, blank: int) -> None:
    torch.manual_seed(3)
    logits = torch.randn(5, 13, 7, dtype=dtype)
    found = []
    for captured in (False, True):
        given = logits.clone().requires_grad_()
        each = losses(given, captured=captured, blank=blank)
        (gradient,) = torch.autograd.grad((each * torch.arange(1, 6)).sum(), given)
        found.append((each.detach(), gradient))
    assert found[1][0][3:].tolist() == [0, 0]
    assert not found[1][1][3:].any()
    for ours, theirs in zip(found[1], found[0], strict=True):
        assert_close(ours, theirs, tolerance=tolerance)


def test_gradients_by_finite_differences() -> None:
    torch.manual_seed(4)
    logits = torch.randn(5, 13, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda given: losses(given, captured=True), (logits,))


def test_symbols_that_cannot_be_emitted_give_no_nan() -> None:
    log_probs = torch.full((1, 3, 3), -torch.inf).index_fill(2, torch.tensor([0]), 0.0).requires_grad_()
    lengths = torch.tensor([3]), torch.tensor([1])
    loss = CapturedCTC.apply(log_probs, torch.tensor([[1]]), *lengths, 0)  # type: ignore[no-untyped-call]
    (gradient,) = torch.autograd.grad(loss.sum(), log_probs)
    assert loss.tolist() == [0]
    assert not gradient.any()
