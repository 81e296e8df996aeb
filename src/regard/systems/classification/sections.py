"""Recipe sections of classification: data formats with their kind of target, and generated data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import Files, HubData, JsonlData, LabelledData, SplitFiles, TableData
from regard.recipes.section import Section
from regard.systems.classification.target_section import TargetData

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples


class ClassificationDecoding(Section):
    """Keys of `decode` for classification."""

    threshold: Annotated[float, Field(gt=0, lt=1)] | Literal["tuned"] = 0.5
    """For `target_kind: labels`: smallest probability of a predicted label; `tuned` for the threshold with the best
    micro F1 on the validation data."""


class LabelledTableData(TableData, TargetData):
    """TSV or CSV files with texts and targets in columns."""


class LabelledJsonlData(JsonlData, TargetData):
    """JSON Lines files with one object per line."""


class LabelledHubData(HubData, TargetData):
    """Data set loaded with the `datasets` library (the extra `regard[data]`)."""


class LabelledTextData(LabelledData, TargetData):
    """Text files with one labelled text per line."""


class UtterancesData(SplitFiles):
    """Labelled turns of dialogues: one JSON object per line with a list of turns and a list of labels."""

    format: Literal["utterances"]
    """Selects this format."""
    turns: str = "turns"
    """Key of the list of turns."""
    label: str = "emotion"
    """Key of the list of labels, one per turn."""
    names: list[str] = Field(default_factory=list)
    """Names of the labels if the file numbers them from 0; empty to keep the labels unchanged."""
    context: int = Field(0, ge=0)
    """Number of preceding turns that are prepended to each turn as context."""
    separator: str = Field("|", min_length=1, pattern=r"^\S+$")
    """Token between a turn and its context turns."""
    overlap: Literal["drop", "pairs", "keep"] = "drop"
    """Validation and test dialogues that also occur in the training file: `drop` them, drop also those that share two
    consecutive turns with one (`pairs`), or `keep` them."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.classification.utterances import Utterances

        return Utterances(
            self._path(named),
            turns=self.turns,
            label=self.label,
            names=tuple(self.names),
            context=self.context,
            separator=self.separator,
            **self.reading(),
        )

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.data.formats.dialogues import without_overlap

        found = super().examples(split, reading)
        return found if split == "train" else without_overlap(found, self.overlap, self.training_files())


class EndingsData(GeneratedData):
    """Generated recall task: a list of made-up words, then the beginning of one; the label is its ending."""

    made: ClassVar[str] = "regard.systems.classification.endings:Endings"

    format: Literal["endings"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of training texts."""
    valid_size: int = Field(500, ge=1)
    """Number of validation texts."""
    test_size: int = Field(1000, ge=1)
    """Number of test texts; none of them occurs in training."""
    shortest: int = Field(2, ge=1, le=12)
    """Smallest number of words in a text."""
    longest: int = Field(8, ge=1, le=12)
    """Largest number of words in a text."""
    seed: int = 0
    """Random seed of the texts."""


class OpinionsData(GeneratedData):
    """Generated positive and negative sentences in made-up words, with labels."""

    made: ClassVar[str] = "regard.systems.classification.opinions:Opinions"

    format: Literal["opinions"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of training sentences."""
    valid_size: int = Field(500, ge=1)
    """Number of validation sentences."""
    test_size: int = Field(1000, ge=1)
    """Number of test sentences; none of them occurs in training."""
    words: int = Field(40, ge=1, le=2450)
    """Number of positive adjectives, and of negative ones."""
    pairs: bool = False
    """Generate pairs of sentences, labelled by agreement; for models that compare two texts."""
    seed: int = 0
    """Random seed of the sentences; the meanings of words do not depend on it."""

    @property
    def has_two_texts(self) -> bool:
        return self.pairs

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split), labelled=reading.answer is not None))


class ClaimsData(GeneratedData):
    """Generated reports of people's locations, each with a claim that is true, false or about an unmentioned person."""

    made: ClassVar[str] = "regard.systems.classification.claims:Claims"
    has_two_texts: ClassVar[bool] = True

    format: Literal["claims"]
    """Selects this format."""
    train_size: int = Field(8000, ge=1)
    """Number of training pairs."""
    valid_size: int = Field(500, ge=1)
    """Number of validation pairs."""
    test_size: int = Field(1000, ge=1)
    """Number of test pairs; none of their reports occurs in training."""
    names: int = Field(30, ge=3, le=4900)
    """Number of different names."""
    shortest: int = Field(3, ge=2, le=12)
    """Smallest number of persons in a report."""
    longest: int = Field(6, ge=2, le=12)
    """Largest number of persons in a report."""
    seed: int = 0
    """Random seed of the pairs."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split)))


class VerdictsData(GeneratedData):
    """Generated reviews of many sentences in made-up words; one sentence determines the label."""

    made: ClassVar[str] = "regard.systems.classification.verdicts:Verdicts"

    format: Literal["verdicts"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of reviews to train on."""
    valid_size: int = Field(300, ge=1)
    """Number of reviews to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of reviews to test on; training has none of them."""
    words: int = Field(30, ge=1, le=2450)
    """Number of positive adjectives, and of negative ones."""
    shortest: int = Field(6, ge=1)
    """Smallest number of sentences in a review."""
    longest: int = Field(20, ge=1)
    """Largest number of sentences in a review."""
    seed: int = 0
    """Seed of the reviews; meanings of words are fixed."""


class MovieReviewsData(Files):
    """Film reviews of the polarity data set, version 2.0, with its ten cross-validation folds."""

    format: Literal["movie_reviews"]
    """Selects this format."""
    archive: str = "movie_reviews.zip"
    """Zip archive or folder with one folder of .txt files per label: `neg/cv713_29002.txt`."""
    fold: int = Field(0, ge=0, le=9)
    """Test fold, the first digit of the number in a file name; the next fold is for validation, the rest for
    training."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.classification.movie_reviews import MovieReviews

        return MovieReviews((self.root or Path()) / self.archive, split, self.fold, **self.reading())


class ReviewsData(GeneratedData, TargetData):
    """Generated hotel reviews in made-up words; the target is the list of complaints, a rating or a label."""

    made: ClassVar[str] = "regard.systems.classification.reviews:Reviews"

    format: Literal["reviews"]
    """Selects this format."""
    train_size: int = Field(4000, ge=1)
    """Number of reviews to train on."""
    valid_size: int = Field(300, ge=1)
    """Number of reviews to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of reviews to test on; training has none of them."""
    words: int = Field(30, ge=1, le=2450)
    """Number of positive adjectives, and of negative ones."""
    seed: int = 0
    """Seed of the reviews; meanings of words are fixed."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments of the generator for a split, including the kind of target."""
        rule = super().arguments(split)
        del rule["label_separator"]  # labels are generated as lists
        return {"target": rule.pop("target_kind"), **rule}
