"""Recipe sections of spans: passages in windows, SQuAD, generated diaries, the span reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, Reading, Split
from regard.recipes.data_sections import SplitFiles
from regard.recipes.generated_sections import GeneratedData

if TYPE_CHECKING:
    from regard.data.example import Reader


class SpanData(DataSection):
    """Windows of passages that answers are spans of."""

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


class SquadData(SplitFiles, SpanData):
    """Questions with passages and answers in the JSON of SQuAD 1.1."""

    format: Literal["squad"]
    """Says that it is this kind of data."""

    def reader(self, named: str, reading: Reading) -> Reader:
        from regard.data import Squad

        return Squad(self._path(named), **self.reading())


class SpansData(SplitFiles, SpanData):
    """A question a line, with its passage, its answer and where that begins: TSV, CSV or JSONL, by the file's name."""

    format: Literal["spans"]
    """Says that it is this kind of data."""

    def reader(self, named: str, reading: Reading) -> Reader:
        from regard.data import Spans

        return Spans(self._path(named), **self.reading())


class DiariesData(GeneratedData, SpanData):
    """Diaries of a few people, and questions whose answers stand in them; made on the spot."""

    made: ClassVar[str] = "regard.systems.spans.diaries:Diaries"

    format: Literal["diaries"]
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many questions to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many questions to test on; no passage of them is learned from."""
    longest: int = Field(4, ge=2, le=12)
    """The most sentences of a passage; the fewest are 2."""
    seed: int = 0
    """Another seed, other passages."""

    def arguments(self, split: Split) -> dict[str, Any]:
        """Return the arguments, without those of windows."""
        return {name: value for name, value in super().arguments(split).items() if name not in SpanData.model_fields}
