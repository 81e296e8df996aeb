"""Recipe sections of masked language models: BERT with its heads, and the masking."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from regard.recipes.section import Section, own_keys

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


class MaskingSection(Section):
    """Token masking."""

    share: float = Field(0.15, gt=0, le=1)
    """Fraction of the tokens that are selected for prediction, at least one per text."""
    masked: float = Field(0.8, ge=0, le=1)
    """Fraction of the selected tokens that are replaced by `<mask>`."""
    random: float = Field(0.1, ge=0, le=1)
    """Fraction of the selected tokens that are replaced by a random token; the rest is unchanged."""
    whole_words: bool = False
    """Whole-word masking: select all pieces of a word together."""

    @model_validator(mode="after")
    def _shares(self) -> MaskingSection:
        if self.masked + self.random > 1:
            raise ValueError(f"masked {self.masked:g} and random {self.random:g} are shares of 1, and together more")
        return self


class MaskedTraining(Section):
    """Keys of `train` for masked language models."""

    masking: MaskingSection = MaskingSection()
    """Selection and replacement of the masked tokens."""


MIDDLE = "middle_word"


def check_tokenizer(recipe: Recipe) -> None:
    """Check that whole-word masking is used with a tokenizer that marks word boundaries."""
    if own_keys(recipe.train, MaskedTraining).masking.whole_words and recipe.tokenizer.kind == "characters":
        raise ValueError("kind 'characters' does not know words, and masking.whole_words is true; use another kind")


def check_training(recipe: Recipe) -> None:
    """Check that next-sentence prediction is used with windows, and middle words without masking."""
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
