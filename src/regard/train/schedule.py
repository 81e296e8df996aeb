"""Learning-rate schedules: the factor of `train.optimizer.rate` at each update."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any


class Schedule(abc.ABC):
    """Factor of the learning rate at each update, counted from 1; a function of the step alone, except for plateau."""

    @abc.abstractmethod
    def factor(self, step: int) -> float:
        """Return the factor of the learning rate at update `step`."""

    def observe(self, value: float, *, higher_is_better: bool) -> None:  # noqa: B027
        """Record a validation result; most schedules ignore it."""

    def state(self) -> dict[str, Any]:
        """Return the state that a resumed run needs, as JSON."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:  # noqa: B027
        """Resume from `state()`."""


@dataclass(frozen=True)
class ConstantSchedule(Schedule):
    """Constant learning rate after a linear warm-up.

    >>> [ConstantSchedule(warmup=4).factor(step) for step in (1, 2, 4, 100)]
    [0.25, 0.5, 1.0, 1.0]
    """

    warmup: int = 0

    def factor(self, step: int) -> float:
        return warmup_factor(step, self.warmup)


@dataclass(frozen=True)
class NoamSchedule(Schedule):
    """Schedule of the Transformer: d^-0.5 min(step^-0.5, step warmup^-1.5), multiplied by the recipe's rate.

    Vaswani et al. 2017, equation 3.

    >>> round(NoamSchedule(dim=512, warmup=4000).factor(4000), 6)
    0.000699
    """

    dim: int
    warmup: int = 4000

    def factor(self, step: int) -> float:
        return float(self.dim**-0.5 * min(step**-0.5, step * self.warmup**-1.5))


@dataclass(frozen=True)
class InverseSqrtSchedule(Schedule):
    """Linear warm-up to the recipe's rate, then sqrt(warmup / step).

    >>> [InverseSqrtSchedule(warmup=100).factor(step) for step in (50, 100, 400)]
    [0.5, 1.0, 0.5]
    """

    warmup: int = 4000

    def factor(self, step: int) -> float:
        return min(warmup_factor(step, self.warmup), math.sqrt(max(1, self.warmup) / step))


@dataclass(frozen=True)
class CosineSchedule(Schedule):
    """Linear warm-up, then half a cosine down to `floor` at the last step.

    >>> [round(CosineSchedule(steps=100, floor=0.1).factor(step), 3) for step in (1, 50, 100)]
    [1.0, 0.55, 0.1]
    """

    steps: int
    warmup: int = 0
    floor: float = 0.0

    def factor(self, step: int) -> float:
        if step <= self.warmup:
            return warmup_factor(step, self.warmup)
        done = min(1.0, (step - self.warmup) / max(1, self.steps - self.warmup))
        return self.floor + (1 - self.floor) * 0.5 * (1 + math.cos(math.pi * done))


@dataclass(frozen=True)
class StepSchedule(Schedule):
    """Step decay: multiply by `decay` at `start` and after every `every` steps, as Luong et al. and Zaremba et al. do.

    >>> [StepSchedule(start=8, every=2, decay=0.5).factor(step) for step in (7, 8, 9, 10)]
    [1.0, 0.5, 0.5, 0.25]
    """

    start: int
    every: int
    decay: float = 0.5
    warmup: int = 0

    def factor(self, step: int) -> float:
        times = 0 if step < self.start else 1 + (step - self.start) // self.every
        return float(self.decay**times * warmup_factor(step, self.warmup))


class PlateauSchedule(Schedule):
    """Multiply by `decay` if the validation result has not improved for more than `patience` validations.

    >>> schedule = PlateauSchedule(decay=0.5, patience=1)
    >>> for loss in (3.0, 2.0, 2.5, 2.5):
    ...     schedule.observe(loss, higher_is_better=False)
    >>> schedule.factor(1000)
    0.5
    """

    def __init__(self, decay: float = 0.5, patience: int = 2, warmup: int = 0) -> None:
        self.decay = decay
        self.patience = patience
        self.warmup = warmup
        self._best: float | None = None
        self._waited = 0
        self._factor = 1.0

    def factor(self, step: int) -> float:
        return self._factor * warmup_factor(step, self.warmup)

    def observe(self, value: float, *, higher_is_better: bool) -> None:
        if self._best is None or (value > self._best if higher_is_better else value < self._best):
            self._best, self._waited = value, 0
            return
        self._waited += 1
        if self._waited > self.patience:
            self._factor, self._waited = self._factor * self.decay, 0

    def state(self) -> dict[str, Any]:
        return {"best": self._best, "waited": self._waited, "factor": self._factor}

    def restore(self, state: dict[str, Any]) -> None:
        self._best, self._waited, self._factor = state["best"], state["waited"], state["factor"]


def warmup_factor(step: int, warmup: int) -> float:
    """Return the factor of a linear warm-up from 0 to 1 over `warmup` steps."""
    return min(1.0, step / warmup) if warmup else 1.0
