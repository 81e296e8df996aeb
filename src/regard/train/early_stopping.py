"""Best checkpoint and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.evaluate.metrics import metric_of_column


class ValidationVerdict(NamedTuple):
    """Decision after a validation.

    Attributes:
        better: True if its model is the best so far, and is kept.
        hopeful: True if patience restarts.
        reached: best value of each criterion so far.
    """

    better: bool
    hopeful: bool
    reached: dict[str, float]


def judge(select: Sequence[str], values: Mapping[str, float], reached: Mapping[str, float]) -> ValidationVerdict:
    """Compare a validation with all earlier ones.

    With one criterion, it must be better than all earlier ones. With several, its model is kept if it is at least as
    good as all earlier ones in every criterion, and patience restarts if it is in any. This is the rule of Veličković
    et al. 2018: accuracy is often constant while the loss still falls, and vice versa.

    Args:
        select: names of the criteria.
        values: results of this validation, by name.
        reached: best earlier values; empty at the first validation.

    >>> judge(["accuracy", "loss"], {"accuracy": 0.8, "loss": 1.3}, {"accuracy": 0.8, "loss": 1.2})
    ValidationVerdict(better=False, hopeful=True, reached={'accuracy': 0.8, 'loss': 1.2})
    >>> judge(["loss"], {"accuracy": 0.8, "loss": 1.2}, {"loss": 1.2})
    ValidationVerdict(better=False, hopeful=False, reached={'loss': 1.2})
    """
    if not reached:
        return ValidationVerdict(True, True, {name: values[name] for name in select})
    signs = {name: 1 if higher_is_better(name) else -1 for name in select}
    gains = [signs[name] * (values[name] - reached[name]) for name in select]
    # A single criterion must improve strictly; with several, ties count, as one of them is often constant.
    good = [gain > 0 if len(select) == 1 else gain >= 0 for gain in gains]
    best = {name: values[name] if gain > 0 else reached[name] for name, gain in zip(select, gains, strict=True)}
    return ValidationVerdict(all(good), any(good), best)


def last_kept(select: Sequence[str], validations: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the last validation whose model was kept; an empty mapping if there is none.

    >>> last_kept(["loss"], [{"loss": 2.0}, {"loss": 1.0}, {"loss": 1.5}])
    {'loss': 1.0}
    """
    # Replay the decisions from the log, which does not record them.
    found: Mapping[str, float] = {}
    reached: dict[str, float] = {}
    for values in validations:
        verdict = judge(select, values, reached)
        reached = verdict.reached
        found = values if verdict.better else found
    return found


def higher_is_better(name: str) -> bool:
    """Return True for a metric that should increase, and False for a loss."""
    metric = metric_of_column(name)
    return metric is not None and metric.higher_is_better
