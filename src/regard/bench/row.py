"""Timings of a case, forward or with gradients, for each applicable implementation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from regard.bench.case import Case, Machine, Way
from regard.bench.timing import Time, race
from regard.cuda_capture import recording

Verdict = Literal["faster", "open", "slower"]


@dataclass(frozen=True)
class CaseResult:
    """Measurements of one case.

    Attributes:
        case: the case.
        gradient: the time includes the backward pass for all inputs.
        times: seconds per call by implementation, ours first.
        failed: reason why an implementation has no time, by implementation.
        replayed: times are CUDA-graph replays, without Python overhead.
    """

    case: Case
    gradient: bool
    times: dict[str, Time]
    failed: dict[str, str]
    replayed: bool = False

    @property
    def ratios(self) -> dict[str, float]:
        """Speed-up of ours over each other implementation: above 1 ours is faster."""
        ours = self.times["ours"].median
        return {name: took.median / ours for name, took in self.times.items() if name != "ours"}

    def verdict(self, way: str) -> Verdict:
        """Return whether ours is faster or slower than an implementation, or undecided if their spreads overlap."""
        ours, other = self.times["ours"], self.times[way]
        if abs(other.median - ours.median) <= ours.spread + other.spread:
            return "open"
        return "faster" if ours.median < other.median else "slower"

    def as_json(self) -> dict[str, Any]:
        """Return JSON-serialisable values."""
        return {
            "mechanism": self.case.mechanism,
            "mask": self.case.mask,
            "size": self.case.size,
            "gradient": self.gradient,
            "seconds": {name: took._asdict() for name, took in self.times.items()},
            "ratios": self.ratios,
            "failed": self.failed,
            "replayed": self.replayed,
        }


def measure(cases: Iterable[Case], machine: Machine, *, seconds: float) -> Iterator[CaseResult]:
    """Yield two results per case, forward and with gradients; each takes about `seconds`."""
    for case in cases:
        ways = case.ways(machine)
        for gradient in (False, True):
            inputs = [tensor.to(machine.dtype).requires_grad_(gradient) for tensor in case.inputs(machine.device)]
            calls = {name: _call(way, inputs, gradient=gradient) for name, way in ways.items()}
            failed = {name: reason for name, call in calls.items() if name != "ours" and (reason := _reason(call))}
            able = {name: call for name, call in calls.items() if name not in failed}
            replays = captured_calls(able) if machine.cuda else None
            times = race(replays or able, machine.device, seconds=seconds)
            yield CaseResult(case, gradient, times, failed, replays is not None)
        torch.compiler.reset()


def captured_calls(calls: dict[str, Callable[[], object]]) -> dict[str, Callable[[], None]] | None:
    """Capture the calls in CUDA graphs; None if any cannot be captured: its time would include Python."""
    from regard.runs.folder import RunError
    from regard.train.cuda_graphs import CudaUpdateGraphs

    try:
        with recording():
            return {name: CudaUpdateGraphs()(call) for name, call in calls.items()}
    except RunError:
        return None


def _call(way: Way, inputs: list[Tensor], *, gradient: bool) -> Callable[[], object]:
    def forward() -> object:
        with torch.no_grad():
            return way(*inputs)

    def both() -> object:
        output = way(*inputs)
        return torch.autograd.grad(output, inputs, torch.ones_like(output))

    return both if gradient else forward


def _reason(call: Callable[[], object]) -> str:
    """Run a call and return the first line of its error; "" on success."""
    try:
        with warnings.catch_warnings():  # backends warn at length about unsupported inputs
            warnings.simplefilter("ignore")
            call()
    except Exception as problem:  # third-party code may raise anything: report the reason instead of a time
        return f"{type(problem).__name__}: {problem}".splitlines()[0]
    return ""
