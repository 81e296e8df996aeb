"""Cross-checks of recipes whose models copy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def copies(recipe: Recipe) -> bool:
    """Return whether the model of a recipe copies source words."""
    return bool(getattr(recipe.model, "copy", False) is True)


def check_copying(recipe: Recipe) -> None:
    """Tokens that are copied are those that source and target share, cut alike in every epoch."""
    if not copies(recipe):
        return
    section = recipe.tokenizer
    kinds = {part.kind for part in (section, section.target) if part is not None} - {"file"}
    if not section.joint and kinds - {"words"} and recipe.init is None:
        raise ValueError(
            f"copy is of tokens that source and target share; set the tokenizer's kind to words, or joint to true "
            f"(the kind is {' and '.join(sorted(kinds))})"
        )
    if section.dropout or (section.target is not None and section.target.dropout):
        raise ValueError("copy is of tokens that are the same in every epoch; leave the tokenizer's dropout out")
