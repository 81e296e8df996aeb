"""Recipe sections of classification: formats with the form of their target, generated data, the acceptor."""

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
    """Columns of a TSV or CSV file."""


class LabelledJsonlData(JsonlData, TargetData):
    """One JSON object per line."""


class LabelledHubData(HubData, TargetData):
    """A data set that the `datasets` library loads (the extra `regard[data]`)."""


class LabelledTextData(LabelledData, TargetData):
    """A text with its label per line."""


class UtterancesData(SplitFiles):
    """Turns of dialogues, each with a label: a JSON object per line with a list of turns and a list of labels."""

    format: Literal["utterances"]
    """Selects this format."""
    turns: str = "turns"
    """Key of the list of turns."""
    label: str = "emotion"
    """Key of the list of labels, one per turn."""
    names: list[str] = Field(default_factory=list)
    """Names of labels that are numbers from 0; none to keep the labels as they are."""
    context: int = Field(0, ge=0)
    """Number of turns before each that are read with it."""
    separator: str = Field("|", min_length=1, pattern=r"^\S+$")
    """Token between turns that are read together."""
    overlap: Literal["drop", "pairs", "keep"] = "drop"
    """Dialogues to validate or test on that are also in the training file: left out (drop), left out with all that
    share two turns in a row with one of them (pairs), or kept."""

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
    """Made-up words, then the beginning of one of them; the label is how it ends; generated."""

    made: ClassVar[str] = "regard.systems.classification.endings:Endings"

    format: Literal["endings"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of texts to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of texts to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of texts to test on; training has none of them."""
    shortest: int = Field(2, ge=1, le=12)
    """Smallest number of words in a text."""
    longest: int = Field(8, ge=1, le=12)
    """Largest number of words in a text."""
    seed: int = 0
    """Seed of the texts."""


class OpinionsData(GeneratedData):
    """Sentences that praise or blame in made-up words, with labels; generated."""

    made: ClassVar[str] = "regard.systems.classification.opinions:Opinions"

    format: Literal["opinions"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of sentences to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of sentences to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of sentences to test on; training has none of them."""
    words: int = Field(40, ge=1, le=2450)
    """Number of positive adjectives, and of negative ones."""
    pairs: bool = False
    """Pairs of sentences, labelled by agreement; for models that read two texts."""
    seed: int = 0
    """Seed of the sentences; meanings of words are fixed."""

    @property
    def has_two_texts(self) -> bool:
        return self.pairs

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split), labelled=reading.answer is not None))


class ClaimsData(GeneratedData):
    """Reports on who is where, each with a claim that is true, false or on somebody else; generated."""

    made: ClassVar[str] = "regard.systems.classification.claims:Claims"
    has_two_texts: ClassVar[bool] = True

    format: Literal["claims"]
    """Selects this format."""
    train_size: int = Field(8000, ge=1)
    """Number of pairs to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of pairs to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of pairs to test on; training has none of their reports."""
    names: int = Field(30, ge=3, le=4900)
    """Number of names."""
    shortest: int = Field(3, ge=2, le=12)
    """Smallest number of persons in a report."""
    longest: int = Field(6, ge=2, le=12)
    """Largest number of persons in a report."""
    seed: int = 0
    """Seed of the pairs."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split)))


class VerdictsData(GeneratedData):
    """Reviews in many sentences of made-up words, one of which gives the label; generated."""

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
    """Film reviews of the polarity data set, version 2.0, in its ten folds."""

    format: Literal["movie_reviews"]
    """Selects this format."""
    archive: str = "movie_reviews.zip"
    """A .zip archive or a folder, with a folder of .txt files per label: `neg/cv713_29002.txt`."""
    fold: int = Field(0, ge=0, le=9)
    """Fold that tests, the first digit of the number in a name; the next one validates, the other eight train."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.classification.movie_reviews import MovieReviews

        return MovieReviews((self.root or Path()) / self.archive, split, self.fold, **self.reading())


class ReviewsData(GeneratedData, TargetData):
    """Reviews of hotels in made-up words: what they complain about, or how many stars they give; generated."""

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
        """Return the arguments, the kind of target among them."""
        rule = super().arguments(split)
        del rule["label_separator"]  # labels are generated as lists
        return {"target": rule.pop("target_kind"), **rule}
