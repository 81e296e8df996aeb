"""Right answers that the metrics of a recipe refuse, found before the first update."""

from __future__ import annotations

from collections.abc import Sequence

from regard.data.problems import DataError
from regard.evaluate.metrics import Metric
from regard.evaluate.texts import paired_texts
from regard.recipes.sections import Recipe
from regard.tasks.splits import Split
from regard.tasks.task import Task


def check_references(recipe: Recipe, task: Task, splits: Sequence[Split | None]) -> None:
    """See that all metrics take the right answers of the splits that a model is measured on.

    A validation would refuse them otherwise: texts in subword pieces or with an unknown-word symbol, tags that are of
    no chunk.

    Raises:
        DataError: the first example whose answer a metric refuses, with its place.
    """
    metrics = recipe.metrics if task.answer is not None else []
    for split in splits:
        for example in split.examples if split is not None and metrics else ():
            right = task.references(example.fields)
            for metric in metrics:
                try:
                    _check(metric, right)
                except ValueError as problem:
                    raise DataError(f"{example.where}: {problem}; mend it, or leave the metric out") from None


def _check(metric: Metric, right: list[str]) -> None:
    paired_texts(metric.label, [""], [right])
    if metric.compares == "chunks":
        metric(right[:1], [right])
