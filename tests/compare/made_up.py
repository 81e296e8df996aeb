"""Comparisons whose runs were never trained: what came of them is made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from regard.compare.comparison import Comparison, compare
from regard.compare.result import Result, ResultRow
from regard.compare.trial import Trial


def comparison(*assignments: str, runs: Path = Path("runs")) -> Comparison:
    """Of the recipe for dates."""
    return compare("dates", list(assignments), runs)


def result(trial: Trial, loss: float, *, seconds: float = 10.0) -> Result:
    """A run that ended with this loss, and an exact match of 1 - loss."""
    curve = [(step, {"loss": loss * 200 / step, "exact_match": 1 - loss}) for step in (50, 100, 200)]
    measures = {(split, name): value for split in ("valid", "test") for name, value in curve[-1][1].items()}
    return Result(trial, measures, curve, 200, 1234, seconds)


def rows(compared: Comparison, loss: Callable[[int], float | None]) -> list[ResultRow]:
    """The rows of a comparison whose n-th run ended with `loss(n)`; None for one that failed."""
    members: dict[tuple[tuple[str, str], ...], list[tuple[Trial, float | None]]] = {}
    for number, trial in enumerate(compared.trials):
        members.setdefault(trial.group, []).append((trial, loss(number)))
    return [
        ResultRow(
            dict(group),
            len(trials),
            tuple(result(trial, value) for trial, value in trials if value is not None),
            "; ".join(f"{trial.label}: out of luck" for trial, value in trials if value is None),
        )
        for group, trials in members.items()
    ]
