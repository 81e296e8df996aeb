"""Recipe sections of extractive question answering: windows, SQuAD, files of questions, generated diaries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles, SplitSection

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples
    from regard.recipes.sections import Recipe


class SpanData(DataSection):
    """Keys common to all data of extractive question answering."""

    window: int = Field(320, ge=2)
    """Largest window in tokens; longer passages are split into overlapping windows."""
    overlap: int = Field(128, ge=0)
    """Overlap of consecutive windows in tokens; an answer longer than this may not fit in any window."""
    longest_answer: int = Field(15, ge=1)
    """Maximum length of an answer in words."""

    @model_validator(mode="after")
    def _going_on(self) -> SpanData:
        if self.overlap >= self.window:
            raise ValueError(f"windows of {self.window} that overlap by {self.overlap} do not go on; lower overlap")
        return self


class ArticleSplit(SplitSection):
    """Split of questions that come in one file."""

    by: Literal["source", "target", "order", "article"] = "source"  # type: ignore[assignment]  # one more than the base
    """Key of the split: a hash of the passage (`source`), of the answer (`target`) or of the article's title, so that
    equal ones are in the same split; or the order of the file."""

    def part(self, everything: Examples, split: SplitName, reading: FieldLayout) -> Examples:
        """Return one split of a single data set."""
        if self.by != "article":
            return super().part(everything, split, reading)
        from regard.data import HashSplit

        return HashSplit(everything, split, by="article", valid=self.valid, test=self.test, salt=self.salt)


class SquadData(SplitFiles, SpanData):
    """Questions with passages and answers in the JSON of SQuAD 1.1."""

    format: Literal["squad"]
    """Selects this format."""
    split: ArticleSplit | None = None
    """How to split the `train` file if `valid` or `test` have no files of their own."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import Squad

        return Squad(self._path(named), **self.reading())


class SpansData(SplitFiles, SpanData):
    """One question per line, with passage, answer and its offset: TSV, CSV or JSONL, by the suffix of the file."""

    format: Literal["spans"]
    """Selects this format."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.data import SpanTable

        return SpanTable(self._path(named), **self.reading())


class DiariesData(GeneratedData, SpanData):
    """Generated diaries of a few people, with questions answered by spans of them."""

    made: ClassVar[str] = "regard.systems.spans.diaries:Diaries"

    format: Literal["diaries"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of questions to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of questions to test on; training contains none of their passages."""
    longest: int = Field(4, ge=2, le=12)
    """Largest number of sentences of a passage; the smallest is 2."""
    people: int | None = Field(None, ge=1, le=12)
    """Number of people in a passage, each with several sentences; null for a different person in each sentence."""

    @model_validator(mode="after")
    def _with_deeds(self) -> DiariesData:
        if self.people is not None and self.longest > 6 * self.people:
            raise ValueError(f"{self.people} people have 6 sentences each at most; lower longest, or raise people")
        return self

    seed: int = 0
    """Seed of the passages."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments of the generator, without those of windows."""
        return {name: value for name, value in super().arguments(split).items() if name not in SpanData.model_fields}


def check_tokenizer(recipe: Recipe) -> None:
    """Check the tokenizer: spans need tokens with fixed boundaries."""
    if recipe.tokenizer.dropout:
        raise ValueError("dropout would move the pieces that answers begin and end with; leave it out of 'spans'")
