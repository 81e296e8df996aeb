"""Cross-checks of recipes that describe records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.records.sections import RecordsTraining

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_tokenizer(recipe: Recipe) -> None:
    """A placeholder is one token, and copies are of tokens that do not change."""
    section = recipe.tokenizer
    parts = [section, *([] if section.target is None else [section.target])]
    if any(part.dropout for part in parts):
        raise ValueError("dropout cuts texts anew in each epoch, and records are cut once; leave it out")
    other = next((part.kind for part in parts if part.kind not in ("words", "file")), None)
    if own_keys(recipe.train, RecordsTraining).delexicalise and other is not None:
        raise ValueError(f"train.delexicalise puts one word in the place of a value; the kind is words, not {other}")
