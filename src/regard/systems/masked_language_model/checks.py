"""Cross-checks of recipes that fill in hidden words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.masked_language_model.sections import MaskedTraining, MaskingSection

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

MIDDLE = "middle_word"


def check_tokenizer(recipe: Recipe) -> None:
    """Whole words are hidden where there are words."""
    if own_keys(recipe.train, MaskedTraining).masking.whole_words and recipe.tokenizer.kind == "characters":
        raise ValueError("kind 'characters' does not know words, and masking.whole_words is true; use another kind")


def check_training(recipe: Recipe) -> None:
    """Next sentences are learned from the two parts of windows, and middle words without masks."""
    if recipe.model.kind == MIDDLE and own_keys(recipe.train, MaskedTraining).masking != MaskingSection():
        raise ValueError("masking hides words, and a middle_word predicts all words and hides none; leave it out")
    if not getattr(recipe.model, "next_sentence", False):
        return
    if recipe.train.batch.window is None:
        raise ValueError("batch has no window, and next_sentence of the model learns from the two parts of a window")
    if recipe.train.batch.sentences == 1:
        raise ValueError(
            "'sentences' is 1, and next_sentence of the model also learns from parts of another window of the batch; "
            "set it to 2 or more"
        )
