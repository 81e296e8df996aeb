"""What all data whose answers are spans of a passage have in common."""

from __future__ import annotations

from pydantic import Field, model_validator

from regard.recipes.section import Section


class SpanData(Section):
    """How passages are read that answers are spans of."""

    window: int = Field(320, ge=2)
    """The most pieces of a passage that are read at once; a longer one is cut into windows that overlap."""
    overlap: int = Field(128, ge=0)
    """Pieces of a window, at most, that the next one begins with; an answer that is longer may be in no window."""
    longest_answer: int = Field(15, ge=1)
    """The most words of an answer."""

    @model_validator(mode="after")
    def _going_on(self) -> SpanData:
        if self.overlap >= self.window:
            raise ValueError(f"windows of {self.window} that overlap by {self.overlap} do not go on; lower overlap")
        return self
