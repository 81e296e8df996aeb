"""Recipe sections of replies: dialogues in files, and generated ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples


class DialogueHistory(Section):
    """Keys of all data of replies."""

    turns: int = Field(4, ge=1)
    """Maximum number of turns in the history of a reply: the last ones before it."""
    separator: str = Field("|", min_length=1, pattern=r"^\S+$")
    """Token between turns."""


class SmalltalkData(GeneratedData, DialogueHistory):
    """Generated small talk, with questions about statements of earlier turns."""

    made: ClassVar[str] = "regard.systems.replies.smalltalk:Smalltalk"

    format: Literal["smalltalk"]
    """Selects this format."""
    train_size: int = Field(10000, ge=1)
    """Number of histories to train on."""
    valid_size: int = Field(200, ge=1)
    """Number of histories to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of histories to test on; none of them is in the training data."""
    facts: int = Field(3, ge=1, le=4)
    """Largest number of statements before a question."""
    seed: int = 0
    """Random seed of the dialogues."""


class DialoguesData(SplitFiles, DialogueHistory):
    """A dialogue per line: a JSON object with a list of turns. Each turn but the first is a reply."""

    format: Literal["dialogues"]
    """Selects this format."""
    key: str = "turns"
    """Key of the list of turns."""
    overlap: Literal["drop", "pairs", "keep"] = "drop"
    """Validation and test dialogues that also occur in the training file: left out (`drop`), left out together with
    dialogues that share two consecutive turns with training (`pairs`), or kept."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.replies.dialogues import Dialogues

        return Dialogues(self._path(named), key=self.key, turns=self.turns, separator=self.separator, **self.reading())

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.data.formats.dialogues import without_overlap

        found = super().examples(split, reading)
        return found if split == "train" else without_overlap(found, self.overlap, self.training_files())
