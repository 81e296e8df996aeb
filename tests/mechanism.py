"""What the tests of all mechanisms share: one error budget, one gradient check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def assert_close(actual: Tensor, expected: Tensor | list[object] | float, *, tolerance: float = 1e-6) -> None:
    """Equal up to rounding: absolute and relative `tolerance` against `expected`, compared in float64."""
    wanted = torch.as_tensor(expected, dtype=torch.float64, device=actual.device)
    torch.testing.assert_close(actual.detach().to(torch.float64), wanted, atol=tolerance, rtol=tolerance)


def error(actual: Tensor, truth: Tensor) -> float:
    """The largest absolute distance from the float64 truth."""
    if actual.numel() == 0:
        return 0.0
    return float((actual.detach().double() - truth.detach().double()).abs().max())


def magnitude(tensor: Tensor) -> float:
    """The largest absolute entry; 0 for an empty tensor."""
    return float(tensor.detach().abs().max()) if tensor.numel() else 0.0


def assert_within_budget(
    actual: Tensor, plain: Tensor, truth: Tensor, *, scale: float | None = None, roundings: int = 1
) -> None:
    """An implementation may err twice as much as plain PyTorch, plus a few rounding steps of its own dtype.

    Both errors are measured against the reference in float64, so the tolerance is not a guess. The steps are for
    small problems, where the plain run may be exact by luck; in float64 it is the truth itself, and only the order
    of summation differs. Half precision computes in float32 and rounds once, so there `plain` is a run in float32 on
    the same inputs, and there is a step for each of `roundings`. A step is one of `scale`: the largest true entry, or,
    for gradients that cancel, the largest of all gradients of the problem.
    """
    assert torch.isfinite(actual).all(), "not finite"
    largest = magnitude(truth) if scale is None else scale
    steps = {torch.float64: 32, torch.float32: 4}.get(actual.dtype, roundings)
    allowed = 2.0 * error(plain, truth) + steps * torch.finfo(actual.dtype).eps * largest
    assert error(actual, truth) <= allowed, f"error {error(actual, truth):.3e} exceeds the budget {allowed:.3e}"


def rounded_once(actual: Tensor, plain: Tensor, truth: Tensor) -> None:
    """Half precision that is float32 until its end: every entry is off by half a step of its own, and no more.

    `plain` is a run in float32 on the same inputs, which may itself err, though not by luck less than a few steps.
    """
    half, full = torch.finfo(actual.dtype), torch.finfo(plain.dtype)
    slack = 2.0 * error(plain, truth) + 4 * full.eps * magnitude(truth) + half.eps * half.smallest_normal
    distance = (actual.detach().double() - truth.detach()).abs()
    excess = distance - (slack + half.eps / 2 * truth.detach().abs())
    assert (excess <= 0).all(), f"an entry is {float(excess.max()):.3e} further off than one rounding"


def check_gradients(function: Callable[..., Tensor | tuple[Tensor, ...]], *inputs: Tensor) -> None:
    """float64 gradcheck of `function` in every input."""
    ready = tuple(tensor.detach().double().requires_grad_() for tensor in inputs)
    assert torch.autograd.gradcheck(function, ready, atol=1e-6, rtol=1e-4)


class _Heard(TorchDispatchMode):
    """Refuses numbers that come from Python's side, or go there, by operations."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        aten = torch.ops.aten
        crossing = (aten.lift_fresh.default, aten._local_scalar_dense.default, aten.nonzero.default)
        assert func not in crossing, f"{func} inside a recording"
        return func(*args, **(kwargs or {}))


class _Asked(TorchFunctionMode):
    """Refuses questions that no operation answers on a CPU, where the numbers are at hand."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        crossing = (Tensor.tolist, Tensor.item, Tensor.numpy, Tensor.cpu, Tensor.__bool__)
        assert func not in crossing, f"{func.__name__} inside a recording"
        return func(*args, **(kwargs or {}))


@contextmanager
def on_the_device() -> Iterator[None]:
    """Refuses what a CUDA graph cannot record: numbers that come from Python's side, or go there."""
    with _Asked(), _Heard():
        yield
