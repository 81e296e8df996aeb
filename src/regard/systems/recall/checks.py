"""Cross-checks of recipes that look answers up."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_decoding(recipe: Recipe) -> None:
    """Coverage is of a source that is read word by word."""
    if recipe.search().coverage:
        raise ValueError("coverage is of a source that is read word by word; the task 'recall' looks answers up")
