"""Recipe sections of recall: the generated glossary and the external memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import GeneratedData
from regard.recipes.files import DataFile
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


class RecallDecoding(Section):
    """Keys of `decode` for recall."""

    memory: DataFile | None = None
    """Memory: a file with one text per line, or states stored by `regard remember`; None for the facts of the evaluated
    split."""


class GlossaryData(GeneratedData):
    """Questions about invented words, each with the entry that answers it; generated."""

    made: ClassVar[str] = "regard.systems.recall.glossary:Glossary"

    format: Literal["glossary"]
    """Selects this format."""
    train_size: int = Field(50000, ge=1)
    """Number of questions to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of questions to validate on; at most `words`, or entries contradict each other."""
    test_size: int = Field(500, ge=1)
    """Number of questions to test on, at most `words`; training has none of their entries."""
    words: int = Field(500, ge=1, le=4900)
    """Number of invented words."""
    seed: int = 0
    """Seed of the meanings; words are fixed."""

    @model_validator(mode="after")
    def _consistent(self) -> GlossaryData:
        if max(self.valid_size, self.test_size) > self.words:
            raise ValueError(
                f"of {self.words} words, {max(self.valid_size, self.test_size)} questions would have entries that "
                "contradict each other; raise words, or lower valid_size and test_size"
            )
        return self


def check_decoding(recipe: Recipe) -> None:
    """Check that coverage is not requested: it is defined for attention over source words only."""
    if recipe.search().coverage:
        raise ValueError("coverage is of a source that is read word by word; the task 'recall' looks answers up")
