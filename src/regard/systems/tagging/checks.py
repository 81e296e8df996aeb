"""Cross-checks of recipes that tag, and whether they read letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def spells(recipe: Recipe) -> bool:
    """Return whether the model also reads words by their letters."""
    return getattr(getattr(recipe.model, "encoder", None), "characters", None) is not None


def reads_features(recipe: Recipe) -> bool:
    """Return whether the model also reads a feature of each word, a second column."""
    return getattr(getattr(recipe.model, "encoder", None), "feature_dim", None) is not None


def feature_columns(recipe: Recipe) -> str | None:
    """Return a description of both columns where words have features."""
    return "the word and the feature that model.encoder.feature_dim embeds" if reads_features(recipe) else None


def check_tokenizer(recipe: Recipe) -> None:
    """Tags belong to words, which characters do not tell apart."""
    if recipe.tokenizer.kind == "characters":
        raise ValueError(
            "kind 'characters' does not know words, which have the tags; use words, bpe, unigram or wordpiece"
        )
