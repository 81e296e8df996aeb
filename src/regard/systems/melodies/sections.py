"""Recipe sections of melodies: generated airs and ABC files."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData
from regard.recipes.data_sections import SplitFiles

if TYPE_CHECKING:
    from regard.data.example import DataReader


class AirsData(GeneratedData):
    """Short melodies of a grammar, whose phrases return; generated."""

    made: ClassVar[str] = "regard.systems.melodies.airs:Airs"

    format: Literal["airs"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of airs to learn from."""
    valid_size: int = Field(200, ge=1)
    """Number of airs to validate on."""
    test_size: int = Field(500, ge=1)
    """Number of airs to test on; none of them is in the training data."""
    seed: int = 0
    """Another seed gives other airs."""


class TunesData(SplitFiles):
    """Melodies in ABC notation; a file, or a pattern of files such as `*.abc`, has many tunes."""

    format: Literal["abc"]
    """Selects this format."""
    chords: Literal["drop", "keep"] = "drop"
    """Chord symbols such as "Am": left out, or learned with the melody."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.melodies.tune_files import Tunes

        return Tunes(self._path(named), chords=self.chords, **self.reading())
