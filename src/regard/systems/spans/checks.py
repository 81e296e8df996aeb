"""Cross-checks of recipes that answer with a span of a passage."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_tokenizer(recipe: Recipe) -> None:
    """Pieces stay where answers begin and end with them."""
    if recipe.tokenizer.dropout:
        raise ValueError("dropout would move the pieces that answers begin and end with; leave it out of 'spans'")
