"""Correct first: every output and gradient against the float64 truth, before anything is timed.

Ours may err twice as much as plain PyTorch at the same precision, and a few rounding steps more, for small problems
that plain PyTorch gets right by luck. Inputs are strided views into memory that is otherwise NaN, and free memory is
filled with NaN too, so that what is read without having been written shows. On a GPU, where reads that are recorded may
go another way than those called from Python, both are looked at.
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
"""Rounding steps allowed beside; 1 for half precision."""


class GateResult(NamedTuple):
    """An output or gradient that was looked at.

    Attributes:
        case: where.
        dtype: in which precision.
        what: `output`, or the gradient of which input; and whether the read was recorded.
        error: the largest absolute distance from the truth.
        allowed: what it may be.
    """

    case: str
    dtype: str
    what: str
    error: float
    allowed: float

    @property
    def passed(self) -> bool:
        """Not for an error that is NaN."""
        return self.error <= self.allowed

    def __str__(self) -> str:
        return f"{self.case}, {self.dtype}, {self.what}: error {self.error:.2e}, allowed {self.allowed:.2e}"


def verify(cases: Iterable[Case], machine: Machine) -> Iterator[GateResult]:
    """Check case by case, in every precision that the gate has on this machine."""
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
    """The output and the gradient of each input, of a sum with fixed weights between -1 and 1, rounded to `dtype`."""
    ready = [tensor.detach().requires_grad_() for tensor in inputs]
    output = way(*ready)
    upstream = torch.linspace(-1, 1, output.numel(), device=output.device).view_as(output).to(dtype)
    return [output.detach(), *torch.autograd.grad(output, ready, upstream.to(output.dtype))]


def _surrounded(tensor: Tensor) -> Tensor:
    """The same numbers inside a larger tensor of NaN."""
    larger = tensor.new_full([size + 3 for size in tensor.shape], math.nan)
    view = larger[tuple(slice(1, 1 + size) for size in tensor.shape)]
    return view.copy_(tensor)


def _poison(inputs: list[Tensor]) -> None:
    """Leave NaN in the memory that is handed out next."""
    sizes = {tensor.numel() * times for tensor in inputs for times in (1, 2, 4, 16)}
    del [inputs[0].new_full((size,), math.nan) for size in sorted(sizes)][:]


def _distance(actual: Tensor, truth: Tensor) -> float:
    return _largest([actual.double() - truth])


def _largest(tensors: list[Tensor]) -> float:
    """The largest absolute number; NaN if there is one."""
    return max((float(tensor.abs().max()) for tensor in tensors if tensor.numel()), default=0.0, key=_nan_last)


def _nan_last(number: float) -> float:
    return math.inf if math.isnan(number) else number
