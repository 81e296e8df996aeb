"""Cross-checks and metric options of recipes that answer cloze questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard.systems.cloze.sections import ReplacedNames

if TYPE_CHECKING:
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


def check_tokenizer(recipe: Recipe) -> None:
    """Answers are words, and unknown ones differ."""
    section = recipe.tokenizer
    if section.kind != "words":
        raise ValueError(f"an answer is a word of the passage, so kind is 'words'; it is {section.kind!r}")
    fixed = section.vectors is not None and not section.vectors.tuned
    if fixed and isinstance(recipe.data, ReplacedNames) and recipe.data.slots:
        raise ValueError(
            "vectors that are not tuned give every unknown name the zero vector; set vectors.tuned: true or "
            "data.slots: 0"
        )


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: an answer is one label, whatever is in it."""
    return {"whole": True} if metric.compares == "labels" else {}
