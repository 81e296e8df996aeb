"""Correctness gate: compares every output and gradient with a float64 reference before timing.

Ours may have twice the error of plain PyTorch at the same precision, plus a few rounding steps for small problems that
plain PyTorch computes exactly by chance. Inputs are strided views into memory that is otherwise NaN, and free memory is
filled with NaN too, so that reads of uninitialised memory are detected. On a GPU, CUDA-graph capture may dispatch to
other kernels than eager mode, so both are checked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from regard.bench.case import Case, Machine, Way
from regard.cuda_capture import recording

_STEPS = {torch.float32: 4}
"""Additional tolerance in rounding steps; 1 for half precision."""


class GateResult(NamedTuple):
    """Check of an output or gradient.

    Attributes:
        case: the case.
        dtype: precision of the computation.
        what: `output`, or the gradient of an input, and whether it was captured in a CUDA graph.
        error: largest absolute error.
        allowed: tolerance.
    """

    case: str
    dtype: str
    what: str
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        """True if the error is within tolerance; False for NaN."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        return f"{self.case}, {self.dtype}, {self.what}: error {self.error:.2e}, allowed {self.allowed:.2e}"


def verify(cases: Iterable[Case], machine: Machine) -> Iterator[GateResult]:
    """Yield the checks of each case in every gated precision of the machine."""
    for case in cases:
        ways = case.ways(machine)
        for dtype in machine.gated:
            yield from _compare(case, ways, dtype, machine)


def _compare(case: Case, ways: dict[str, Way], dtype: torch.dtype, machine: Machine) -> Iterator[GateResult]:
    given = [tensor.to(dtype) for tensor in case.inputs(machine.device)]
    truth = _run(ways["plain"], [tensor.double() for tensor in given], dtype)
    plain = _run(ways["plain"], given, dtype)
    steps = _STEPS.get(dtype, 1) * torch.finfo(dtype).eps
    scales = [_largest(truth[:1])] + [_largest(truth[1:])] * len(given)
    names = ["output", *(f"gradient of input {number}" for number in range(len(given)))]
    for recorded in (False, True) if machine.cuda else (False,):
        _poison(given)
        with recording() if recorded else nullcontext():
            ours = _run(ways["ours"], [_surrounded(tensor) for tensor in given], dtype)
        for name, ours_, plain_, truth_, scale in zip(names, ours, plain, truth, scales, strict=True):
            allowed = 2 * _distance(plain_, truth_) + steps * scale
            what = f"{name}, recorded" if recorded else name
            yield GateResult(str(case), str(dtype).removeprefix("torch."), what, _distance(ours_, truth_), allowed)


def _run(way: Way, inputs: list[Tensor], dtype: torch.dtype) -> list[Tensor]:
    """Return the output and all input gradients of a sum with fixed weights in [-1, 1], rounded to `dtype`."""
    ready = [tensor.detach().requires_grad_() for tensor in inputs]
    output = way(*ready)
    # Rounded to the tested dtype also for the float64 reference, so that both have the same upstream gradient.
    upstream = torch.linspace(-1, 1, output.numel(), device=output.device).view_as(output).to(dtype)
    return [output.detach(), *torch.autograd.grad(output, ready, upstream.to(output.dtype))]


def _surrounded(tensor: Tensor) -> Tensor:
    """Return a strided copy inside a larger tensor of NaN."""
    larger = tensor.new_full([size + 3 for size in tensor.shape], math.nan)
    view = larger[tuple(slice(1, 1 + size) for size in tensor.shape)]
    return view.copy_(tensor)


def _poison(inputs: list[Tensor]) -> None:
    """Fill memory with NaN and free it, so that the next allocations contain NaN."""
    sizes = {tensor.numel() * times for tensor in inputs for times in (1, 2, 4, 16)}
    del [inputs[0].new_full((size,), math.nan) for size in sorted(sizes)][:]


def _distance(actual: Tensor, truth: Tensor) -> float:
    return _largest([actual.double() - truth])


def _largest(tensors: list[Tensor]) -> float:
    """Largest absolute value; NaN if there is any NaN."""
    return max((float(tensor.abs().max()) for tensor in tensors if tensor.numel()), default=0.0, key=_nan_last)


def _nan_last(number: float) -> float:
    return math.inf if math.isnan(number) else number
