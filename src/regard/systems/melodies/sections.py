"""Recipe sections of melodies: generated airs and ABC files."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData
from regard.recipes.data_sections import SplitFiles

if TYPE_CHECKING:
    from regard.data.example import DataReader


class AirsData(GeneratedData):
    """Short melodies from a grammar, with repeated phrases; generated."""

    made: ClassVar[str] = "regard.systems.melodies.airs:Airs"

    format: Literal["airs"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of training airs."""
    valid_size: int = Field(200, ge=1)
    """Number of validation airs."""
    test_size: int = Field(500, ge=1)
    """Number of test airs; none of them occurs in the training data."""
    seed: int = 0
    """Seed of the airs."""


class TunesData(SplitFiles):
    """Melodies in ABC notation, from a file of tunes or a pattern of files such as `*.abc`."""

    format: Literal["abc"]
    """Selects this format."""
    chords: Literal["drop", "keep"] = "drop"
    """Treatment of chord symbols such as "Am": dropped, or kept as part of the text."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.melodies.tune_files import Tunes

        return Tunes(self._path(named), chords=self.chords, **self.reading())
