"""Cross-checks and metric options of recipes that answer questions about stories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


def check_tokenizer(recipe: Recipe) -> None:
    """An answer is one word of the vocabulary."""
    section = recipe.tokenizer
    if section.kind != "words":
        raise ValueError(f"an answer is one word, so kind is 'words' for the task 'answer'; it is {section.kind!r}")
    if section.split != "whitespace":
        raise ValueError(f"an answer is one word, apple,milk too, so split is 'whitespace'; it is {section.split!r}")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: an answer is one label, whatever is in it."""
    return {"whole": True} if metric.compares == "labels" else {}
