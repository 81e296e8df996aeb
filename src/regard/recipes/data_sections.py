"""The section `data` of a recipe: what it learns from, one class a format."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from regard.data.lines import LONGEST
from regard.recipes.episode_sections import (
    AssociativeRecallData,
    CopyData,
    NgramsData,
    PrioritySortData,
    RepeatCopyData,
)
from regard.recipes.files import DataFile, DataFolder
from regard.recipes.generated_sections import (
    DatesData,
    DiariesData,
    DigitsData,
    EndingsData,
    GlossaryData,
    OpinionsData,
    ReviewsData,
    TalesData,
    WorldData,
)
from regard.recipes.plugin_sections import Plugged
from regard.recipes.section import Section
from regard.recipes.span_section import SpanData
from regard.recipes.target_section import TargetData

Weight = Annotated[float, Field(gt=0, le=1000)]


class SplitSection(Section):
    """How data that come in one file are divided."""

    by: Literal["source", "target", "order"] = "source"
    """By the hash of the source or of the target, so that equal ones stay together; or in the order of the file."""
    valid: float = Field(0.05, gt=0, lt=1)
    """The share to validate on; in order, it comes behind what is learned from."""
    test: float = Field(0.0, ge=0, lt=1)
    """The share to test on; in order, it comes last."""
    salt: str = ""
    """Another text, another division by hash."""

    @model_validator(mode="after")
    def _leaving(self) -> SplitSection:
        if self.valid + self.test >= 1:
            raise ValueError(
                f"valid {self.valid} and test {self.test} leave nothing to learn from; they are shares of 1"
            )
        return self


class Files(Section):
    """What all data that lies in files has in common."""

    root: Path | None = None
    """The folder that the file names below are in; None for the folder you are in."""
    encoding: str = "utf-8"
    """How the files are encoded; anything Python knows."""

    @field_validator("encoding")
    @classmethod
    def _known(cls, encoding: str) -> str:
        try:
            codecs.lookup(encoding)
        except (LookupError, ValueError):
            raise ValueError("there is no such encoding; utf-8, latin-1 and cp1252 are frequent ones") from None
        return encoding

    max_line: int = Field(LONGEST, ge=1)
    """The longest line in bytes; a longer one cannot be read."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Whether a line that cannot be read ends the run, by name, or is left out and counted."""

    def reading(self) -> dict[str, Any]:
        """The arguments that all readers of files have in common."""
        return self.model_dump(include={"encoding", "max_line", "bad_lines"})


class Divided(Files):
    """Data of files for each split, `valid` and `test` among them, or of files for everything that are divided."""

    split: SplitSection | None = None
    """How `train` is divided where there is no `valid`, and no `test`, of its own."""

    @model_validator(mode="after")
    def _divided(self) -> Divided:
        valid, test = (getattr(self, name) for name in ("valid", "test"))
        if (valid is None) == (self.split is None):
            raise ValueError("set valid, what to validate on, or split, to divide train; one of them")
        if self.split is not None and self.split.test and test is not None:
            raise ValueError("test is a file and split.test a share; set one of them")
        return self


class WeightedFile(Section):
    """One of several files to learn from; a name alone has the weight 1."""

    file: DataFile
    """The file."""
    weight: Weight = 1.0
    """How often an epoch learns from each of its examples: 3 for three times, 0.5 for half of them, drawn anew in each
    epoch."""

    @property
    def named(self) -> str:
        """What is read."""
        return self.file


class PairFiles(Section):
    """Two files with as many lines, source and target."""

    source: DataFile
    """The file that is read from."""
    target: DataFile
    """The file with what is to be written."""


class WeightedPair(PairFiles):
    """One of several pairs of files to learn from."""

    weight: Weight = 1.0
    """How often an epoch learns from each of its examples, as of one file."""

    @property
    def named(self) -> PairFiles:
        """What is read."""
        return self


def _form(given: Any) -> str:
    """The branch of a union; brackets tell it from the keys of a section."""
    return "[several]" if isinstance(given, list | tuple) else "[one]"


def _spelled(given: Any) -> Any:
    """Files with a weight each, where some are given by their names alone."""
    return [{"file": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given


class SplitFiles(Divided):
    """Data of one file a split, or of one file that is divided; of several files to learn from."""

    train: Annotated[
        Annotated[DataFile, Tag("[one]")] | Annotated[tuple[WeightedFile, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
        BeforeValidator(_spelled),
    ]
    """The file to learn from, or several with weights: `[{file: a.tsv, weight: 3}, {file: b.tsv}]`; with `split`, those
    with everything."""
    valid: DataFile | None = None
    """The file to validate on."""
    test: DataFile | None = None
    """The file to test on at the end; None for no test."""


class PairsData(Divided):
    """Pairs of text files, line by line; `.gz` is read as it is."""

    format: Literal["pairs"]
    """Says that it is this kind of data."""
    train: Annotated[
        Annotated[PairFiles, Tag("[one]")] | Annotated[tuple[WeightedPair, ...], Field(min_length=1), Tag("[several]")],
        Discriminator(_form),
    ]
    """The files to learn from, or a list of several pairs with a `weight` each; with `split`, those with everything."""
    valid: PairFiles | None = None
    """The files to validate on."""
    test: PairFiles | None = None
    """The files to test on at the end; None for no test."""

    def pair_paths(self) -> list[tuple[Path, Path]]:
        """Return the files of every pair, source and target."""
        root, train = self.root or Path(), self.train if isinstance(self.train, tuple) else (self.train,)
        named = (one for one in (*train, self.valid, self.test) if one is not None)
        return [(root / one.source, root / one.target) for one in named]


class TableData(SplitFiles, TargetData):
    """Columns of a TSV or CSV file."""

    format: Literal["table"]
    """Says that it is this kind of data."""
    source: str | int | list[str | int] = 0
    """The column that is read from: its number from 0, or its name in the header. Two of them, `[0, 1]`, for a model
    that reads two texts: with `pair_dim`, with a BERT as encoder, or of the task recall (the question and the fact)."""
    target: str | int = 1
    """The column with what is to be said: a text, or a label. A language model has none."""
    delimiter: Literal["tab", "comma"] | None = None
    """What stands between columns, `,` and `\\t` for short; comma reads quotes as CSV does. None for a comma in files
    whose names end in .csv or .csv.gz, and a tab in others."""
    header: bool = False
    """Whether the first line names the columns."""

    @field_validator("delimiter", mode="before")
    @classmethod
    def _spelt_out(cls, given: Any) -> Any:
        return {",": "comma", "\t": "tab", r"\t": "tab"}.get(given, given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _headed(self) -> TableData:
        sources = self.source if isinstance(self.source, list) else [self.source]
        named = next((column for column in (*sources, self.target) if isinstance(column, str)), None)
        if named is not None and not self.header:
            raise ValueError(f"column '{named}' is named, so set header to true, or give its number")
        return self


class JsonlData(SplitFiles, TargetData):
    """One JSON object a line."""

    format: Literal["jsonl"]
    """Says that it is this kind of data."""
    source: str | list[str] = "source"
    """The key of what is read from. Two of them for a model that reads two texts: with `pair_dim`, or a BERT as
    encoder."""
    target: str = "target"
    """The key of what is to be said: a text, a label, or a list of tags. A language model has none."""


class HubData(TargetData):
    """A data set that the `datasets` library loads (the extra `regard[data]`)."""

    format: Literal["hub"]
    """Says that it is this kind of data."""
    name: str
    """As the library takes it: a name on the hub, or a folder."""
    config: str | None = None
    """The configuration, where a data set has several."""
    train: str = "train"
    """The library's name of the split to learn from; slices too: `train[:1000]`."""
    valid: str = "validation"
    """The split to validate on."""
    test: str | None = None
    """The split to test on at the end; None for no test."""
    source: str | list[str] = "source"
    """The column that is read from; one inside another with a dot: `translation.de`. Two of them for a model that
    reads two texts: with `pair_dim`, or a BERT as encoder."""
    target: str = "target"
    """The column with what is to be said. A language model has none."""
    bad_lines: Literal["refuse", "skip"] = "refuse"
    """Whether a row that cannot be read ends the run, by number, or is left out and counted."""


class CmudictData(SplitFiles):
    """The CMU pronouncing dictionary: words to phonemes."""

    format: Literal["cmudict"]
    """Says that it is this kind of data."""
    stress: bool = False
    """Whether vowels keep their stress: AH0, AH1, AH2."""


class TextData(SplitFiles):
    """Plain text, a text a line."""

    format: Literal["text"]
    """Says that it is this kind of data."""
    blank: Literal["drop", "keep"] = "drop"
    """Whether blank lines are passed over or are empty texts."""
    ends: bool = False
    """Whether line ends belong to the text, as models of characters want it, blank lines too."""


class LabelledData(SplitFiles, TargetData):
    """A text a line with its label."""

    format: Literal["labelled"]
    """Says that it is this kind of data."""
    label: Literal["first", "last"] = "first"
    """Where the label stands on the line."""
    separator: str | None = Field(None, min_length=1)
    """What stands between label and text; None for white space."""


class FolderData(Files):
    """A folder of .txt files named by the label of their lines, or of folders named by a label, a .txt file a text."""

    format: Literal["folder"]
    """Says that it is this kind of data."""
    train: DataFolder
    """The folder to learn from; what `split` says of it validates."""
    test: DataFolder | None = None
    """The folder to test on at the end; None for a share of `train`, or no test."""
    split: SplitSection = SplitSection()
    """How `train` is divided."""


class ColumnsData(SplitFiles):
    """A word a line with its tags in columns, a blank line between sentences."""

    format: Literal["columns"]
    """Says that it is this kind of data."""
    source: int = 0
    """The column of the word, from 0; -1 is the last."""
    target: int = 1
    """The column of the tag."""
    separator: str | None = Field(None, min_length=1)
    """What stands between columns; None for white space."""
    comment: str | None = None
    """Lines that begin with this are passed over."""


class ConlluData(SplitFiles):
    """Universal Dependencies: a word a line in ten columns, a blank line between sentences."""

    format: Literal["conllu"]
    """Says that it is this kind of data."""
    source: Literal["form", "lemma"] = "form"
    """The column of the word."""
    target: Literal["upos", "xpos", "feats", "deprel", "lemma", "form"] = "upos"
    """The column of the tag."""


class StoriesData(SplitFiles):
    """Stories with questions in the format of bAbI: numbered lines, a question with a tab and its answer."""

    format: Literal["stories"]
    """Says that it is this kind of data; `*` in the name of a file stands for several: `qa*_train.txt`."""


class SquadData(SplitFiles, SpanData):
    """Questions with passages and answers in the JSON of SQuAD 1.1."""

    format: Literal["squad"]
    """Says that it is this kind of data."""


class SpansData(SplitFiles, SpanData):
    """A question a line, with its passage, its answer and where that begins: TSV, CSV or JSONL, by the file's name."""

    format: Literal["spans"]
    """Says that it is this kind of data."""


class CommunitiesData(Section):
    """A graph of people who keep to their own; made on the spot."""

    format: Literal["communities"]
    """Says that it is this kind of data."""
    communities: int = Field(5, ge=2)
    """How many there are."""
    nodes: int = Field(600, ge=2)
    """Of all communities together."""
    inside: float = Field(4.0, ge=0)
    """How many neighbours in its own community a node has, on average."""
    outside: float = Field(1.0, ge=0)
    """How many in others."""
    features: int = Field(24, ge=1)
    """Numbers of a node."""
    signal: float = Field(1.0, ge=0)
    """How much features say about the community; 0 for nothing."""
    learned: int = Field(10, ge=1)
    """Nodes of each community to learn from."""
    valid_size: int = Field(150, ge=1)
    """How many nodes to validate on."""
    test_size: int = Field(300, ge=1)
    """How many nodes to test on."""
    seed: int = Field(0, ge=0)
    """Another seed, another graph."""


class PlanetoidData(Section):
    """A citation graph in a .npz file, with its split: Cora, Citeseer."""

    format: Literal["planetoid"]
    """Says that it is this kind of data."""
    root: Path | None = None
    """The folder that the file is in; None for the folder you are in."""
    file: DataFile
    """The file, with the arrays that docs/graphs.md names."""
    normalise: bool = True
    """Whether the features of a node are made to sum to one."""


class GraphData(Files):
    """A graph in two files with tabs between columns: nodes (id, label, features) and edges (two ids)."""

    format: Literal["graph"]
    """Says that it is this kind of data."""
    nodes: DataFile = "nodes.tsv"
    """A line for each node: its id, its label or nothing, and numbers."""
    edges: DataFile = "edges.tsv"
    """A line for each edge: two ids."""
    directed: bool = False
    """Whether only the second node of an edge reads the first; otherwise both read each other."""
    header: bool = False
    """Whether the first line of each file names its columns."""
    normalise: bool = False
    """Whether the features of a node are made to sum to one."""
    split: SplitSection = SplitSection(valid=0.1, test=0.1)
    """How the nodes with labels are divided: by the hash of their ids (source), or in the order of the file."""

    @model_validator(mode="after")
    def _by_node(self) -> GraphData:
        if self.split.by == "target":
            raise ValueError(
                "split.by is 'target', and nodes with one label would all fall together; it can be source or order"
            )
        return self


DataSection = Annotated[
    DatesData
    | DigitsData
    | EndingsData
    | GlossaryData
    | OpinionsData
    | ReviewsData
    | TalesData
    | WorldData
    | PairsData
    | TableData
    | JsonlData
    | HubData
    | CmudictData
    | TextData
    | LabelledData
    | FolderData
    | ColumnsData
    | ConlluData
    | StoriesData
    | DiariesData
    | SquadData
    | SpansData
    | CommunitiesData
    | PlanetoidData
    | GraphData
    | CopyData
    | RepeatCopyData
    | AssociativeRecallData
    | NgramsData
    | PrioritySortData,
    Field(discriminator="format"),
    Plugged("reader", "format"),
]

FORMATS: dict[str, tuple[str, ...]] = {
    "translate": ("dates", "digits", "pairs", "table", "jsonl", "hub", "cmudict"),
    "language_model": ("text", "table", "jsonl", "hub", "tales"),
    "masked_language_model": ("text", "table", "jsonl", "hub", "opinions"),
    "classify": ("endings", "opinions", "reviews", "labelled", "folder", "table", "jsonl", "hub"),
    "tag": ("columns", "conllu", "jsonl", "hub"),
    "answer": ("stories", "world"),
    "spans": ("diaries", "squad", "spans"),
    "recall": ("glossary", "table", "jsonl", "hub"),
    "nodes": ("communities", "planetoid", "graph"),
    "bits": ("copy", "repeat_copy", "associative_recall", "ngrams", "priority_sort"),
}
"""The formats that each task can learn from."""


def reader_formats(task: str) -> list[str]:
    """Return the formats of readers that plug-ins registered, for the tasks that learn from such files."""
    files = any(issubclass(one, SplitFiles) for form, one in sections().items() if form in FORMATS[task])
    return list(Plugged("reader", "format").sections()) if files else []


def sections() -> dict[str, type[Section]]:
    """Return the classes of the section `data` by format, those of plug-ins among them."""
    union = get_args(DataSection)[0]
    ours = {get_args(one.model_fields["format"].annotation)[0]: one for one in get_args(union)}
    return ours | Plugged("reader", "format").sections()


TWO_TEXTS = {"recall": "what is asked and the fact that answers it"}
"""Tasks that read two texts, each in a field of its own: what the two columns of `source` are."""
