"""Recipe sections of recall: a generated glossary, and the memory that answers are looked up in."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.files import DataFile
from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Section


class Decoding(Section):
    """Keys of `decode` that belong to recall."""

    memory: DataFile | None = None
    """What answers are looked up in, a file with a text on each line, or states that `regard remember` stored; None for
    the facts of what is measured."""


class GlossaryData(GeneratedData):
    """Questions about invented words, each with the entry that answers it; made on the spot."""

    made: ClassVar[str] = "regard.systems.recall.glossary:Glossary"

    format: Literal["glossary"]
    """Says that it is this kind of data."""
    train_size: int = Field(50000, ge=1)
    """How many questions to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many questions to validate on; no more than `words`, or entries contradict each other."""
    test_size: int = Field(500, ge=1)
    """How many questions to test on, likewise; none of their entries is learned from."""
    words: int = Field(500, ge=1, le=4900)
    """How many invented words there are."""
    seed: int = 0
    """Another seed, other meanings; the words stay."""

    @model_validator(mode="after")
    def _consistent(self) -> GlossaryData:
        if max(self.valid_size, self.test_size) > self.words:
            raise ValueError(
                f"of {self.words} words, {max(self.valid_size, self.test_size)} questions would have entries that "
                "contradict each other; raise words, or lower valid_size and test_size"
            )
        return self
