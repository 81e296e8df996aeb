"""Interleaved timing of implementations, so that background load affects all of them equally."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

_SAMPLE = 2e-3
"""Minimum seconds per sample; faster calls are repeated within a sample."""


class Time(NamedTuple):
    """Seconds per call: median over rounds, and half the interquartile range."""

    median: float
    spread: float

    @staticmethod
    def of(samples: list[float]) -> Time:
        """Return the median and spread of one or more samples.

        >>> Time.of([1.0, 2.0, 3.0, 4.0, 5.0])
        Time(median=3.0, spread=1.0)
        """
        if len(samples) < 2:
            return Time(samples[0], 0.0)
        low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
        return Time(middle, (high - low) / 2)


def race(
    calls: Mapping[str, Callable[[], object]], device: torch.device, *, seconds: float, rounds: int = 31
) -> dict[str, Time]:
    """Time calls in `rounds` interleaved rounds (at least 3) after a warm-up.

    Uses fewer rounds if they would take longer than `seconds` in total.
    """
    clock = _on_cuda if device.type == "cuda" else _on_cpu
    for call in calls.values():  # warm-up: compilation, autotuning, allocator
        clock(call, 2)
    first = {name: clock(call, 1) for name, call in calls.items()}
    times = {name: max(1, min(1000, math.ceil(_SAMPLE / max(took, 1e-7)))) for name, took in first.items()}
    samples: dict[str, list[float]] = {name: [] for name in calls}
    # Median over interleaved rounds: a slow phase of the machine affects all implementations.
    begin = time.perf_counter()
    for number in range(rounds):
        if number >= 3 and time.perf_counter() - begin > seconds:
            break
        for name, call in calls.items():
            samples[name].append(clock(call, times[name]))
    return {name: Time.of(taken) for name, taken in samples.items()}


def _on_cpu(call: Callable[[], object], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


def _on_cuda(call: Callable[[], object], times: int) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()  # no earlier kernel may run within the timed interval
    begin.record()
    for _ in range(times):
        call()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end)) / 1000 / times
