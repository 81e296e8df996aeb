"""Recipe sections of cloze questions: three file formats, generated stories, hidden names, re-ranking."""

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
    """Re-ranking of the best candidates with language models that score the filled-in question."""

    n_best: int = Field(5, ge=2, le=100)
    """Number of re-ranked candidates."""
    order: int = Field(3, ge=1, le=8)
    """Length of the n-grams of words and of word classes."""
    classes: int = Field(100, ge=3, le=2000)
    """Number of word classes."""


class ClozeTraining(Section):
    """Keys of `train` for cloze questions."""

    rerank: Reranking | None = None
    """Re-ranking of the best candidates with language models of the training texts. Their weights are tuned on the
    validation data after training. None disables it; `{}` uses all defaults."""


class ClozeDecoding(Section):
    """Keys of `decode` for cloze questions."""

    rerank: bool = True
    """Re-rank the best candidates, if the run has a re-ranker (`train.rerank`)."""


class ReplacedNames(DataSection):
    """Keys of all cloze data: placeholder and out-of-vocabulary words."""

    placeholder: str = Field("XXXXX", min_length=1, pattern=r"^\S+$")
    """Token that marks the blank in a question."""
    slots: int = Field(64, ge=0, le=4096)
    """Number of embeddings for out-of-vocabulary words: the first unknown word of a question gets one, the second
    another. In training they are assigned randomly at each update. With 0, all unknown words share one embedding."""
    hide: bool = False
    """Replace all candidates, known or not, by such embeddings, as in the anonymised data of Hermann et al. 2015."""


class CBTData(SplitFiles, ReplacedNames):
    """The Children's Book Test: numbered sentences, then question, answer and candidates, separated by tabs."""

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
    """Token that marks the blank in a question."""

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.cloze.readers import News

        return News(self._path(named), placeholder=self.placeholder, **self.reading())


class ClozeData(SplitFiles, ReplacedNames):
    """One question per line: JSON objects (.jsonl), or the columns passage, question, candidates and answer (.tsv)."""

    format: Literal["cloze"]
    """Selects this format."""
    passage: str = "passage"
    """Key of the passage, a text or a list of sentences; "context" and "document" are accepted too."""
    question: str = "question"
    """Key of the question; "query" is accepted too."""
    candidates: str = "candidates"
    """Key of the candidates, a list; if it is missing, every word of the passage is a candidate."""
    answer: str = "answer"
    """Key of the answer."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of a JSON object, in the order of the columns."""
        return self.passage, self.question, self.candidates, self.answer

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.cloze.readers import PlainCloze

        return PlainCloze(self._path(named), placeholder=self.placeholder, keys=self.keys, **self.reading())


class WhodunitData(GeneratedData, ReplacedNames):
    """Generated stories about people's deeds, with a question who did one of them; each split has its own names."""

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
        """Return the arguments of the generator, without those of replaced names."""
        return {
            name: value for name, value in super().arguments(split).items() if name not in ReplacedNames.model_fields
        }


def check_tokenizer(recipe: Recipe) -> None:
    """Check that the tokenizer is compatible with answers that are words, and with slots for unknown words."""
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
    """Return the options of label metrics: an answer is one label, even with spaces in it."""
    return {"whole": True} if metric.compares == "labels" else {}
