"""Recipe sections of masked language models: BERT with its heads, and which words are hidden."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from regard.recipes.encoder_sections import BertEncoderSection
from regard.recipes.section import Model, Section


class MaskingSection(Section):
    """Choice of the masked words."""

    share: float = Field(0.15, gt=0, le=1)
    """Of the words of a text, at least one: what the model is asked for."""
    masked: float = Field(0.8, ge=0, le=1)
    """Of those, what becomes `<mask>`."""
    random: float = Field(0.1, ge=0, le=1)
    """Of those, what becomes any word; the rest stays as it is."""
    whole_words: bool = False
    """Whether all pieces of a word are hidden with it."""

    @model_validator(mode="after")
    def _shares(self) -> MaskingSection:
        if self.masked + self.random > 1:
            raise ValueError(f"masked {self.masked:g} and random {self.random:g} are shares of 1, and together more")
        return self


class Training(Section):
    """Keys of `train` that belong to masked language models."""

    masking: MaskingSection = MaskingSection()
    """Which words are hidden."""


class BertSection(Model):
    """BERT with its heads, to be pretrained."""

    kind: Literal["bert"]
    """Says that it is this model."""
    encoder: BertEncoderSection = BertEncoderSection()
    """The layers that read."""
    next_sentence: bool = False
    """Whether it learns too if the second part of a text follows the first."""

    @model_validator(mode="after")
    def _summed(self) -> BertSection:
        if self.next_sentence and not self.encoder.pooled:
            raise ValueError("next_sentence looks at the pooled summary of a text; set pooled of the encoder to true")
        return self
