"""Outline of the model of a recipe: made with a few words and without memory, to check its arguments."""

from __future__ import annotations

from regard.models.shapes_only import shapes_only
from regard.recipes.sections import Recipe
from regard.tasks.build import build_model
from regard.tasks.registry import task_class


def outline(recipe: Recipe) -> None:
    """Make the model of a recipe for few words.

    Raises:
        ValueError: arguments that do not fit together.
    """
    with shapes_only():
        build_model(recipe.model, *task_class(recipe.task).outline_sizes)
