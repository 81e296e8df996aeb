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


def feature_column(recipe: Recipe) -> str | None:
    """Return the description of both columns of a model that reads features of words; None for others."""
    return "the word and the feature that model.encoder.feature_dim embeds" if reads_features(recipe) else None


def check_data(recipe: Recipe) -> None:
    """Check that a feature of each word has a column."""
    columns = feature_column(recipe)
    if columns is not None and not isinstance(getattr(recipe.data, "source", None), list):
        raise ValueError(f"source has two columns, {columns}")


def check_tokenizer(recipe: Recipe) -> None:
    """Tags belong to words, which characters do not tell apart."""
    if recipe.tokenizer.kind == "characters":
        raise ValueError(
            "kind 'characters' does not know words, which have the tags; use words, bpe, unigram or wordpiece"
        )
