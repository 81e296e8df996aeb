"""Metrics of recipes that label pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from regard.systems.glimpses.sections import LabelledPictureSection

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


def section_of(recipe: Recipe) -> LabelledPictureSection:
    """Return the section `data`."""
    assert isinstance(recipe.data, LabelledPictureSection)
    return recipe.data


def default_metrics(recipe: Recipe) -> Sequence[str]:
    """Return the metrics of one label per picture, or of a sequence of them."""
    return ("accuracy",) if section_of(recipe).most_labels == 1 else ("exact_match", "wer")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: a picture's only label may have spaces in it."""
    return {"whole": section_of(recipe).most_labels == 1} if metric.compares == "labels" else {}
