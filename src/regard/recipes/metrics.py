"""Metrics of a recipe: those under `evaluate.metrics`, or the defaults of its system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe
    from regard.recipes.system import MetricEntry


def chosen_metrics(recipe: Recipe) -> list[Metric]:
    """Return the metrics of a recipe with their options.

    Raises:
        ValueError: a metric or an option does not exist, or `evaluate.select` is not among the metrics.
    """
    # local, so that errors in a recipe are reported without importing NumPy
    from regard.evaluate.metrics import disambiguate, metric

    system, given = recipe.system, recipe.evaluate.metrics
    if given and system.compares is None:
        raise ValueError("metrics compare answers with references; a language model has perplexity, leave them out")
    found: list[Metric] = []
    for entry in default_metrics(recipe) if given is None else given:
        options: Mapping[str, Any] = {entry: {}} if isinstance(entry, str) else entry
        for name, chosen in options.items():
            if not isinstance(chosen, Mapping | None):
                raise ValueError(f"the options of {name!r} are a mapping, such as {{tokenize: none}}; got {chosen!r}")
            usual = system.metric_options(recipe, metric(name, **(chosen or {})))
            found.append(metric(name, **{**usual, **(chosen or {})}))
    found = disambiguate(found)
    names = ("loss", *(one.label for one in found))
    wanted = recipe.evaluate.wanted
    if wanted is not None and (not wanted or any(one not in names for one in wanted)):
        raise ValueError(f"select is {recipe.evaluate.select!r}; it can be {', '.join(names)}")
    return found


def default_metrics(recipe: Recipe) -> Sequence[MetricEntry]:
    """Return the default metrics of the system of a recipe."""
    metrics = recipe.system.metrics
    return metrics(recipe) if callable(metrics) else metrics


def check_metrics(recipe: Recipe) -> None:
    """Check that the metrics of a recipe apply to its outputs, and that their options are valid.

    Raises:
        ValueError: the first metric or option that is invalid.
    """
    from regard.evaluate.metrics import METRICS

    allowed = recipe.system.compares
    kinds = allowed(recipe) if callable(allowed) else allowed
    for one in recipe.metrics:
        if kinds is not None and one.compares not in kinds:
            usual = [name if isinstance(name, str) else next(iter(name)) for name in default_metrics(recipe)]
            raise ValueError(
                f"metric {one.name!r} compares {one.compares.replace('_', ' ')}; this recipe of the task "
                f"{recipe.task!r} is measured by {', '.join(usual)}"
            )
        ours = METRICS.get(one.name)
        if ours is not None and one.options == ours.options:
            continue  # no options to check
        some = {"numbers": "0", "records": "slot[value]"}.get(one.compares, "O")
        try:
            one([some], [[some]])  # a trial call raises for an invalid option
        except TypeError:
            raise ValueError(f"the metric {one.name!r} does not take {dict(one.options)}") from None
