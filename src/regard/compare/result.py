"""Results of the runs of a comparison."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.compare.pool import Pool
from regard.compare.trial import Clock, Trial
from regard.evaluate.metrics import metric_of_column
from regard.predictor import load
from regard.runs.metrics_log import AVERAGED
from regard.runs.run import Run
from regard.train.early_stopping import last_kept

_LOWER = ("loss", "perplexity", "bits_per_character")


class Spread(NamedTuple):
    """Mean and standard deviation (n - 1) of some numbers; no deviation for a single number."""

    mean: float
    deviation: float | None

    @staticmethod
    def of(values: Iterable[float]) -> Spread | None:
        """Return the spread of numbers; None of no numbers.

        >>> Spread.of([1.0, 2.0, 3.0]), Spread.of([5.0]), Spread.of([])
        (Spread(mean=2.0, deviation=1.0), Spread(mean=5.0, deviation=None), None)
        """
        found = list(values)
        if not found:
            return None
        return Spread(statistics.fmean(found), statistics.stdev(found) if len(found) > 1 else None)


@dataclass(frozen=True)
class Result:
    """Result of a finished run.

    Attributes:
        trial: which one.
        measures: scores of the kept model by (split, name): the best checkpoint by `evaluate.select`, or the average of
            the last ones.
        curve: the validations: step and values.
        step: last training step.
        parameters: number of model parameters.
        seconds: training time.
    """

    trial: Trial
    measures: Mapping[tuple[str, str], float]
    curve: Sequence[tuple[int, Mapping[str, float]]]
    step: int
    parameters: int
    seconds: float

    @staticmethod
    def of(trial: Trial) -> Result:
        """Return the spread of numbers; None of no numbers."""
        rows = list(Run(trial.folder).metrics)
        curve = [(row["step"], _values(row)) for row in rows if row["split"] == "valid"]
        best = last_kept(trial.recipe.select, [values for _, values in curve])
        ends = {row["split"]: _values(row) for row in rows if row["split"] in (AVERAGED, "test")}
        found = {"valid": ends.get(AVERAGED, best), "test": ends.get("test", {})}
        measures = {(split, name): value for split, values in found.items() for name, value in values.items()}
        parameters = sum(parameter.numel() for parameter in load(trial.folder, device="cpu").model.parameters())
        return Result(trial, measures, curve, rows[-1]["step"], parameters, Clock(trial.folder).seconds)


@dataclass(frozen=True)
class ResultRow:
    """Runs that differ only in seed or fold.

    Attributes:
        values: what each axis but seeds and folds is set to, by key.
        trials: number of planned runs.
        results: results of finished runs.
        problem: sentence on why the others did not finish; "" if all did.
    """

    values: Mapping[str, str]
    trials: int
    results: tuple[Result, ...]
    problem: str

    def measure(self, split: str, name: str) -> Spread | None:
        """Return the spread of a measure over seeds and folds."""
        return Spread.of(result.measures[split, name] for result in self.results if (split, name) in result.measures)

    def curve(self, name: str) -> dict[int, Spread]:
        """Return the spread of a measure at each validation, over the runs that have one."""
        found: dict[int, list[float]] = {}
        for result in self.results:
            for step, values in result.curve:
                if name in values:
                    found.setdefault(step, []).append(values[name])
        return {step: spread for step in sorted(found) if (spread := Spread.of(found[step]))}


def rows(pool: Pool) -> list[ResultRow]:
    """Return the rows of the table, in the order of the trials."""
    members: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, trial in enumerate(pool.trials):
        members.setdefault(trial.group, []).append(number)
    found = []
    for group, numbers in members.items():
        results = tuple(Result.of(pool.trials[number]) for number in numbers if pool.states[number] == "done")
        found.append(ResultRow(dict(group), len(numbers), results, _problem(pool, numbers)))
    return found


def measured(found: Sequence[ResultRow]) -> list[tuple[str, str]]:
    """(split, name) of everything that was measured, in the order in which it was written."""
    return list(dict.fromkeys(key for row in found for result in row.results for key in result.measures))


def higher_is_better(name: str) -> bool | None:
    """Return True for a metric that grows as a model improves; None for an unknown measure."""
    if name in _LOWER:
        return False
    metric = metric_of_column(name)
    return None if metric is None else metric.higher_is_better


def _values(row: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in row.items() if name not in ("step", "split")}


def _problem(pool: Pool, numbers: list[int]) -> str:
    reasons = {pool.trials[number].label: pool.reasons[number] for number in numbers if number in pool.reasons}
    if len(numbers) == 1:
        return next(iter(reasons.values()), "")
    return "; ".join(f"{label}: {reason}" for label, reason in reasons.items())
