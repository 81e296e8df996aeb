"""Recipe sections of cloze questions: files of three forms, generated tales, hidden names, re-ranking."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from regard.recipes.data_section import DataSection, FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles
from regard.recipes.files import DataFolder
from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import DataReader
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


class Reranking(Section):
    """Re-ranking of the best candidates by language models of the question with each in its blank."""

    n_best: int = Field(5, ge=2, le=100)
    """Number of candidates that are ranked anew."""
    order: int = Field(3, ge=1, le=8)
    """Length of the n-grams of words, and of classes of words."""
    classes: int = Field(100, ge=3, le=2000)
    """Number of classes of words."""


class ClozeTraining(Section):
    """Keys of `train` for cloze questions."""

    rerank: Reranking | None = None
    """Language models that rank the best candidates anew, learned from the training texts; their weights are tuned on
    the validation data after training. None for none; `{}` for all defaults."""


class ClozeDecoding(Section):
    """Keys of `decode` for cloze questions."""

    rerank: bool = True
    """Rank the best candidates anew, if the run has learned to (`train.rerank`)."""


class ReplacedNames(DataSection):
    """Keys of all cloze data: words that the vocabulary lacks."""

    placeholder: str = Field("XXXXX", min_length=1, pattern=r"^\S+$")
    """Word of a question that stands where the answer belongs."""
    slots: int = Field(64, ge=0, le=4096)
    """Number of embeddings for words that the vocabulary lacks, so that different ones differ: the first unknown word
    of a question has one, the second another. In training they are dealt anew at each update. 0 for none."""
    hide: bool = False
    """Give candidates such embeddings too, known or not, as in the anonymised data of Hermann et al. 2015."""


class CBTData(SplitFiles, ReplacedNames):
    """The Children's Book Test: numbered sentences, then question, answer and candidates with tabs between."""

    format: Literal["cbt"]
    """Selects this format."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.cloze.readers import ChildrensBooks

        return ChildrensBooks(self._path(named), placeholder=self.placeholder, **self.reading())


class NewsData(SplitFiles, ReplacedNames):
    """CNN and DailyMail: a folder of `.question` files per split."""

    format: Literal["news"]
    """Selects this format."""
    train: DataFolder
    """Folder of training questions."""
    valid: DataFolder | None = None
    """Folder of validation questions."""
    test: DataFolder | None = None
    """Folder of test questions; None for no test."""
    placeholder: str = Field("@placeholder", min_length=1, pattern=r"^\S+$")
    """Word of a question that stands where the answer belongs."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.cloze.readers import News

        return News(self._path(named), placeholder=self.placeholder, **self.reading())


class ClozeData(SplitFiles, ReplacedNames):
    """One question per line: JSON objects (.jsonl), or the columns passage, question, candidates and answer (.tsv)."""

    format: Literal["cloze"]
    """Selects this format."""
    passage: str = "passage"
    """Key of the passage in an object, a text or a list of sentences; "context" and "document" are understood."""
    question: str = "question"
    """Key of the question; "query" is understood."""
    candidates: str = "candidates"
    """Key of the candidates, a list; without it every word of the passage is one."""
    answer: str = "answer"
    """Key of the answer."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of an object, in the order of columns."""
        return self.passage, self.question, self.candidates, self.answer

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.cloze.readers import PlainCloze

        return PlainCloze(self._path(named), placeholder=self.placeholder, keys=self.keys, **self.reading())


class WhodunitData(GeneratedData, ReplacedNames):
    """Generated stories of people who did things, and the question who did one of them; names of a split are new."""

    made: ClassVar[str] = "regard.systems.cloze.whodunit:Whodunit"

    format: Literal["whodunit"]
    """Selects this format."""
    train_size: int = Field(20000, ge=1)
    """Number of questions to train on."""
    valid_size: int = Field(500, ge=1)
    """Number of questions to validate on."""
    test_size: int = Field(1000, ge=1)
    """Number of questions to test on."""
    shortest: int = Field(5, ge=4)
    """Smallest number of sentences of a story."""
    longest: int = Field(9, ge=4)
    """Largest number of sentences of a story."""
    seed: int = 0
    """Seed of the stories."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments, without those of names."""
        return {
            name: value for name, value in super().arguments(split).items() if name not in ReplacedNames.model_fields
        }


def check_tokenizer(recipe: Recipe) -> None:
    """Answers are words, and unknown ones differ."""
    section = recipe.tokenizer
    if section.kind != "words":
        raise ValueError(f"an answer is a word of the passage, so kind is 'words'; it is {section.kind!r}")
    fixed = section.vectors is not None and not section.vectors.tuned
    if fixed and isinstance(recipe.data, ReplacedNames) and recipe.data.slots:
        raise ValueError(
            "vectors that are not tuned give every unknown name the zero vector; set vectors.tuned: true or "
            "data.slots: 0"
        )


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: an answer is one label, whatever is in it."""
    return {"whole": True} if metric.compares == "labels" else {}
