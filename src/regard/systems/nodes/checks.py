"""Metric options of recipes that label nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: a node has one label, whatever is in it."""
    return {"whole": True} if metric.compares == "labels" else {}
