"""Recipe sections of classification: formats with the form of their target, generated data, the acceptor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import Reading, Split
from regard.recipes.data_sections import HubData, JsonlData, LabelledData, TableData
from regard.recipes.generated_sections import GeneratedData
from regard.recipes.section import Section
from regard.systems.classification.target_section import TargetData

if TYPE_CHECKING:
    from regard.data.example import Examples


class Decoding(Section):
    """Keys of `decode` that belong to classification."""

    threshold: Annotated[float, Field(gt=0, lt=1)] | Literal["tuned"] = 0.5
    """Of target_kind labels: the probability from which on a label is part of an answer; `tuned` for the one with the
    best micro F1 on the validation data, found when training ends."""


class LabelledTableData(TableData, TargetData):
    """Columns of a TSV or CSV file."""


class LabelledJsonlData(JsonlData, TargetData):
    """One JSON object per line."""


class LabelledHubData(HubData, TargetData):
    """A data set that the `datasets` library loads (the extra `regard[data]`)."""


class LabelledTextData(LabelledData, TargetData):
    """A text with its label per line."""


class EndingsData(GeneratedData):
    """Made-up words, then the beginning of one of them; the label is how it ends; made on the spot."""

    made: ClassVar[str] = "regard.systems.classification.endings:Endings"

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

    made: ClassVar[str] = "regard.systems.classification.opinions:Opinions"

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

    def examples(self, split: Split, reading: Reading) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split), labelled=reading.answer is not None))


class ReviewsData(GeneratedData, TargetData):
    """Reviews of hotels in made-up words: what they complain about, or how many stars they give; made on the spot."""

    made: ClassVar[str] = "regard.systems.classification.reviews:Reviews"

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

    def arguments(self, split: Split) -> dict[str, Any]:
        """Return the arguments, the kind of target among them."""
        rule = super().arguments(split)
        del rule["label_separator"]  # labels are generated as lists
        return {"target": rule.pop("target_kind"), **rule}
