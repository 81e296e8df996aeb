"""Construction of a recipe's model: with initialised parameters, or without memory to check its arguments."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.models.build import construct
from regard.models.shapes_only import shapes_only
from regard.nn.checkpointing import checkpoint_gradients
from regard.parts import imported
from regard.recipes.section import Model
from regard.recipes.sections import Recipe
from regard.tasks.freezing import freeze
from regard.tasks.task import Task, task_class
from regard.tasks.word_vectors import freeze_vectors


def make_model(recipe: Recipe, task: Task) -> nn.Module:
    """Return the model of a recipe with initialised parameters; parameters that the recipe freezes need no gradient."""
    model = build_model(recipe.model, *task.sizes, **task.fitted(recipe.model.arguments(scale=task.scale)))
    freeze_vectors(recipe, task, model)
    freeze(model, recipe.train.freeze)
    if recipe.train.gradient_checkpointing:
        checkpoint_gradients(model)
    return model


def build_model(section: Model, source_size: int, target_size: int | None, **arguments: Any) -> nn.Module:
    """Build the model that a `model` section of a recipe describes.

    Args:
        section: the `model` section of the recipe.
        source_size: number of source ids, or width of the inputs.
        target_size: number of target ids; None if source and target share a vocabulary or there is no target.
        arguments: replace all arguments of the section, if any are passed.
    """
    return construct(section.kind, imported(section.place), source_size, target_size, arguments or section.arguments())


def outline(recipe: Recipe) -> None:
    """Build the model of a recipe for a small vocabulary, without memory, to check its arguments.

    Raises:
        ValueError: inconsistent arguments.
    """
    with shapes_only():  # no memory is allocated for parameters
        build_model(recipe.model, *task_class(recipe.task).outline_sizes)
