"""Cross-checks of tagging recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def spells(recipe: Recipe) -> bool:
    """Return True if the model also encodes words by their characters."""
    return getattr(getattr(recipe.model, "encoder", None), "characters", None) is not None


def reads_features(recipe: Recipe) -> bool:
    """Return True if the model also embeds a feature of each word, from a second column."""
    return getattr(getattr(recipe.model, "encoder", None), "feature_dim", None) is not None


def feature_column(recipe: Recipe) -> str | None:
    """Return a description of both columns if the model uses word features; None otherwise."""
    return "the word and the feature that model.encoder.feature_dim embeds" if reads_features(recipe) else None


def check_data(recipe: Recipe) -> None:
    """Check that the data have a column for word features."""
    columns = feature_column(recipe)
    if columns is not None and not isinstance(getattr(recipe.data, "source", None), list):
        raise ValueError(f"source has two columns, {columns}")


def check_tokenizer(recipe: Recipe) -> None:
    """Check that the tokenizer is not of characters: tags need word boundaries."""
    if recipe.tokenizer.kind == "characters":
        raise ValueError(
            "kind 'characters' does not know words, which have the tags; use words, bpe, unigram or wordpiece"
        )
