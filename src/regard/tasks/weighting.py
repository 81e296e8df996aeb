"""Class weights of a recipe, counted in the training data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regard.data.fields.labels import Labels
from regard.recipes.sections import Recipe
from regard.tasks.class_weights import ClassWeights
from regard.tasks.splits import Split
from regard.tasks.task import Task


def weighted_task(recipe: Recipe, task: Task, train: Split) -> Task:
    """Return the task with the class weights of the recipe; the same task where it has none."""
    wanted = recipe.train.class_weights
    if wanted is None:
        return task
    labels = task.encoders[str(task.answer)]
    assert isinstance(labels, Labels)
    if wanted == "balanced":
        return task.weighted(ClassWeights.balanced(_counts(train, str(task.answer), labels)))
    return task.weighted(ClassWeights.named(wanted, labels))


def _counts(train: Split, field: str, labels: Labels) -> NDArray[np.int64]:
    """[C], how often each label occurs."""
    if train.encoded is not None:
        ids = train.encoded.ids(field)
    else:  # nodes of a graph
        ids = np.concatenate(labels.encode_all([example.fields[field] for example in train.examples]))
    return np.bincount(ids, minlength=labels.size)
