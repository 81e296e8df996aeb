"""The section `data` of recipes whose data are made on the spot: one class for each kind."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from regard.recipes.section import Section
from regard.recipes.span_section import SpanData
from regard.recipes.target_section import TargetData


class GeneratedData(Section):
    """What all of them have in common: sizes of the splits, and what the data are made by."""

    def arguments(self, split: str) -> dict[str, Any]:
        """What `regard.data` makes a split of, by name."""
        sizes = {"train_size", "valid_size", "test_size"}
        rule = self.model_dump(exclude={"format", *sizes, *SpanData.model_fields}, exclude_none=True)
        return {"split": split, "size": getattr(self, f"{split}_size"), **rule}


class DatesData(GeneratedData):
    """Dates as people write them in many languages, to ISO dates; made on the spot from CLDR."""

    format: Literal["dates"]
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many dates to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many dates to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many dates to test on; no date and no format of them is learned from."""
    seed: int = 0
    """Another seed, other dates."""
    languages: list[str] | None = Field(None, min_length=1)
    """Which ones; None for all of them."""


class DigitsData(GeneratedData):
    """Sequences of digits to copy, reverse or sort; made on the spot."""

    format: Literal["digits"]
    """Says that it is this kind of data."""
    task: Literal["copy", "reverse", "sort"] = "reverse"
    """What to make of them."""
    train_size: int = Field(10000, ge=1)
    """How many rows to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many rows to validate on."""
    test_size: int = Field(500, ge=1)
    """How many rows to test on; none of them is learned from."""
    longest: int = Field(10, ge=3)
    """The most digits of a row; the fewest are 3."""
    seed: int = 0
    """Another seed, other rows."""


class WorldData(GeneratedData):
    """Stories of a small world with a question each, after the first tasks of bAbI; made on the spot."""

    format: Literal["world"]
    """Says that it is this kind of data."""
    asked: Literal["one_fact", "two_facts", "yes_no", "counting"] = "one_fact"
    """What is asked: where someone is, where a thing is, whether someone is somewhere, how many things someone has."""
    train_size: int = Field(1000, ge=1)
    """How many questions to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many questions to test on; no story of them is learned from."""
    longest: int = Field(10, ge=4)
    """The most sentences of a story; the fewest are 4."""
    seed: int = 0
    """Another seed, other stories."""


class EndingsData(GeneratedData):
    """Made-up words, then the beginning of one of them; the label is how it ends; made on the spot."""

    format: Literal["endings"]
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many texts to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many texts to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many texts to test on; none of them is learned from."""
    shortest: int = Field(2, ge=1, le=12)
    """The fewest words of a text."""
    longest: int = Field(8, ge=1, le=12)
    """The most words of a text."""
    seed: int = 0
    """Another seed, other texts."""


class OpinionsData(GeneratedData):
    """Sentences that praise or blame in made-up words, with labels; made on the spot."""

    format: Literal["opinions"]
    """Says that it is this kind of data."""
    train_size: int = Field(20000, ge=1)
    """How many sentences to learn from."""
    valid_size: int = Field(500, ge=1)
    """How many sentences to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many sentences to test on; none of them is learned from."""
    words: int = Field(40, ge=1, le=2450)
    """Adjectives that praise; as many blame."""
    pairs: bool = False
    """Whether a label is of two sentences, which agree or differ; for a model that reads two texts."""
    seed: int = 0
    """Another seed, other sentences; what words mean stays."""


class ReviewsData(GeneratedData, TargetData):
    """Reviews of hotels in made-up words: what they complain about, or how many stars they give; made on the spot."""

    format: Literal["reviews"]
    """Says that it is this kind of data."""
    train_size: int = Field(4000, ge=1)
    """How many reviews to learn from."""
    valid_size: int = Field(300, ge=1)
    """How many reviews to validate on."""
    test_size: int = Field(1000, ge=1)
    """How many reviews to test on; none of them is learned from."""
    words: int = Field(30, ge=1, le=2450)
    """Adjectives that praise; as many blame."""
    seed: int = 0
    """Another seed, other reviews; what words mean stays."""

    def arguments(self, split: str) -> dict[str, Any]:
        """The kind of target is what is generated."""
        rule = super().arguments(split)
        del rule["label_separator"]  # labels are generated as lists
        return {"target": rule.pop("target_kind"), **rule}


class TalesData(GeneratedData):
    """Tales of animals with made-up names, each given once and used again; made on the spot."""

    format: Literal["tales"]
    """Says that it is this kind of data."""
    train_size: int = Field(4000, ge=1)
    """How many tales to learn from."""
    valid_size: int = Field(200, ge=1)
    """How many tales to validate on."""
    test_size: int = Field(500, ge=1)
    """How many tales to test on; none of them is learned from."""
    names: int = Field(38416, ge=6, le=38416)
    """How many names there are to draw from: of few, each is met often; of many, almost all are new."""
    animals: int = Field(3, ge=1, le=6)
    """How many a tale has, each with a name."""
    deeds: int = Field(6, ge=1)
    """Sentences after the names were given, each with a name again."""
    seed: int = 0
    """Another seed, other tales; the names stay."""


class GlossaryData(GeneratedData):
    """Questions about invented words, each with the entry that answers it; made on the spot."""

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


class DiariesData(GeneratedData, SpanData):
    """Diaries of a few people, and questions whose answers stand in them; made on the spot."""

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
