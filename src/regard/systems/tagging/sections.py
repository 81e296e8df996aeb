"""Recipe sections of tagging: the transducer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from regard.recipes.attention_section import Share
from regard.recipes.encoder_sections import Encoder, RNNEncoderSection
from regard.recipes.section import Model


class TransducerSection(Model):
    """Each word of a text to a tag."""

    kind: Literal["transducer"]
    """Says that it is this model."""
    encoder: Encoder = RNNEncoderSection(kind="rnn")
    """What reads the text: `kind` and its arguments."""
    crf: bool = False
    """Whether tags are scored together with the tags beside them, in a linear chain."""
    tag_scheme: Literal["bio", "bioes"] | None = None
    """Of a CRF: answers are sequences of tags that the scheme has; None for any."""
    dropout: Share = 0.0
    """On the states."""
    word_dropout: float = Field(0.0, ge=0, le=1)
    """How often a word becomes unknown in training; its letters stay."""

    @model_validator(mode="after")
    def _scored_together(self) -> TransducerSection:
        if self.tag_scheme is not None and not self.crf:
            raise ValueError("tag_scheme is of a crf, which knows the tag before; set crf to true")
        return self
