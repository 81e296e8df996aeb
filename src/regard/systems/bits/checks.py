"""Cross-checks of recipes that learn bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_training(recipe: Recipe) -> None:
    """A batch is a number of sequences."""
    if recipe.train.batch.sentences is None:
        raise ValueError("batch has no sentences, and the task 'bits' draws so many at a time; set sentences")
