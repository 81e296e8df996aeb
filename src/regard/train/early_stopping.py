"""Best checkpoint and early stopping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from regard.evaluate.metrics import metric_of_column


class ValidationVerdict(NamedTuple):
    """Decision after a validation.

    Attributes:
        better: whether its model is the one to keep.
        hopeful: whether patience begins anew.
        reached: the best value so far of each measure.
    """

    better: bool
    hopeful: bool
    reached: dict[str, float]


def judge(select: Sequence[str], values: Mapping[str, float], reached: Mapping[str, float]) -> ValidationVerdict:
    """Compare a validation with all before it.

    By one measure, it must be better than all of them. By several, it must be at least as good as all of them in each
    measure to be kept, and in any for hope: the rule of Veličković et al. 2018, whose accuracy often stands still while
    the loss falls on, and the other way round.

    Args:
        select: the measures that decide.
        values: of this validation, by name.
        reached: the best values before it; empty at the first.

    >>> judge(["accuracy", "loss"], {"accuracy": 0.8, "loss": 1.3}, {"accuracy": 0.8, "loss": 1.2})
    ValidationVerdict(better=False, hopeful=True, reached={'accuracy': 0.8, 'loss': 1.2})
    >>> judge(["loss"], {"accuracy": 0.8, "loss": 1.2}, {"loss": 1.2})
    ValidationVerdict(better=False, hopeful=False, reached={'loss': 1.2})
    """
    if not reached:
        return ValidationVerdict(True, True, {name: values[name] for name in select})
    signs = {name: 1 if higher_is_better(name) else -1 for name in select}
    gains = [signs[name] * (values[name] - reached[name]) for name in select]
    good = [gain > 0 if len(select) == 1 else gain >= 0 for gain in gains]
    best = {name: values[name] if gain > 0 else reached[name] for name, gain in zip(select, gains, strict=True)}
    return ValidationVerdict(all(good), any(good), best)


def last_kept(select: Sequence[str], validations: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Return the last of some validations whose model was kept; an empty mapping of none.

    >>> last_kept(["loss"], [{"loss": 2.0}, {"loss": 1.0}, {"loss": 1.5}])
    {'loss': 1.0}
    """
    found: Mapping[str, float] = {}
    reached: dict[str, float] = {}
    for values in validations:
        verdict = judge(select, values, reached)
        reached = verdict.reached
        found = values if verdict.better else found
    return found


def higher_is_better(name: str) -> bool:
    """Return True for a metric that grows as a model improves; a loss falls."""
    metric = metric_of_column(name)
    return metric is not None and metric.higher_is_better
