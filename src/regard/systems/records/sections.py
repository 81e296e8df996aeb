"""Recipe sections of records: generated data, data in files, and the task's keys of `train`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData
from regard.recipes.data_sections import SplitFiles
from regard.recipes.section import Section, own_keys

if TYPE_CHECKING:
    from regard.data.example import DataReader
    from regard.recipes.sections import Recipe


class RecordsTraining(Section):
    """Keys of `train` for records."""

    delexicalise: tuple[str, ...] = ()
    """Fields whose values are replaced by placeholders, in records and texts, and put back into answers."""


class InnsData(GeneratedData):
    """Generated records of inns with one description each; names and towns are disjoint between splits."""

    made: ClassVar[str] = "regard.systems.records.inns:Inns"

    format: Literal["inns"]
    """Selects this format."""
    train_size: int = Field(5000, ge=1)
    """Number of training records."""
    valid_size: int = Field(300, ge=1)
    """Number of validation records."""
    test_size: int = Field(500, ge=1)
    """Number of test records."""
    seed: int = 0
    """Seed of the records."""


class E2EData(SplitFiles):
    """CSV files of the E2E challenge: `name[The Eagle], food[Thai]` and a text per line; also compressed (`.gz`)."""

    format: Literal["e2e"]
    """Selects this format."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.records.readers import E2E

        return E2E(self._path(named), **self.reading())


class RecordsData(SplitFiles):
    """A JSON object per line: a record, which is an object of fields and values, and its text."""

    format: Literal["records"]
    """Selects this format."""
    record: str = "record"
    """Key of the record."""
    text: str = "text"
    """Key of the text; a list of texts gives an example per text."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.records.readers import Records

        return Records(self._path(named), keys=(self.record, self.text), **self.reading())


def check_tokenizer(recipe: Recipe) -> None:
    """Check the tokenizer: a placeholder must be one token, and copying needs tokens that are fixed."""
    section = recipe.tokenizer
    parts = [section, *([] if section.target is None else [section.target])]
    if any(part.dropout for part in parts):
        raise ValueError("dropout cuts texts anew in each epoch, and records are cut once; leave it out")
    other = next((part.kind for part in parts if part.kind not in ("words", "file")), None)
    if own_keys(recipe.train, RecordsTraining).delexicalise and other is not None:
        raise ValueError(f"train.delexicalise puts one word in the place of a value; the kind is words, not {other}")
