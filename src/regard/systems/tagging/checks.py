"""Cross-checks of recipes that tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_data(recipe: Recipe) -> None:
    """A feature of each word has a column of its own."""
    if recipe.reads_features and not isinstance(getattr(recipe.data, "source", None), list):
        raise ValueError("source has two columns, the word and the feature that model.encoder.feature_dim embeds")


def check_tokenizer(recipe: Recipe) -> None:
    """Tags belong to words, which characters do not tell apart."""
    if recipe.tokenizer.kind == "characters":
        raise ValueError(
            "kind 'characters' does not know words, which have the tags; use words, bpe, unigram or wordpiece"
        )
