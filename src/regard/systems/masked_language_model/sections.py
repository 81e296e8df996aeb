"""Recipe sections of masked language models: BERT with its heads, and which words are hidden."""

from __future__ import annotations

from pydantic import Field, model_validator

from regard.recipes.section import Section


class MaskingSection(Section):
    """Choice of the masked words."""

    share: float = Field(0.15, gt=0, le=1)
    """Share of the tokens that are predicted, at least one per text."""
    masked: float = Field(0.8, ge=0, le=1)
    """Share of those that become `<mask>`."""
    random: float = Field(0.1, ge=0, le=1)
    """Share of those that become a random token; the rest stays."""
    whole_words: bool = False
    """Whole-word masking."""

    @model_validator(mode="after")
    def _shares(self) -> MaskingSection:
        if self.masked + self.random > 1:
            raise ValueError(f"masked {self.masked:g} and random {self.random:g} are shares of 1, and together more")
        return self


class MaskedTraining(Section):
    """Keys of `train` for masked language models."""

    masking: MaskingSection = MaskingSection()
    """Choice of the masked tokens."""
