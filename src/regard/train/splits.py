"""The data of a recipe: examples of each split, and what turns their fields into ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data import (
    Cmudict,
    Columns,
    Conllu,
    Corpus,
    DataError,
    Dates,
    Diaries,
    Digits,
    Endings,
    Examples,
    Glossary,
    Hub,
    Joined,
    Jsonl,
    Labelled,
    Labels,
    Mixture,
    Numbers,
    Opinions,
    Pairs,
    Reader,
    Reviews,
    Slice,
    Spans,
    Squad,
    Stories,
    Table,
    Tales,
    Text,
    Tokenizer,
    World,
)
from regard.data import Split as HashSplit
from regard.data.episodes import ALGORITHMS, Drawn
from regard.data.episodes.drawn import ENDLESS
from regard.data.example import Value
from regard.data.foreign import ForeignExamples
from regard.data.generated import Generated
from regard.data.graphs import Communities, Graph, GraphTables, Members, Planetoid
from regard.data.joined import SECOND
from regard.data.spelling import LETTERS, Spelt
from regard.data.target_kinds import ONE_LABEL, TargetKind
from regard.data.tokenizer_import import import_tokenizer
from regard.data.windows import Cutting, Places, Windows
from regard.recipes.data_sections import (
    CmudictData,
    ColumnsData,
    CommunitiesData,
    ConlluData,
    FolderData,
    GraphData,
    HubData,
    JsonlData,
    LabelledData,
    PairFiles,
    PairsData,
    PlanetoidData,
    SpansData,
    SplitFiles,
    SplitSection,
    SquadData,
    StoriesData,
    TableData,
    TextData,
    WeightedFile,
    WeightedPair,
)
from regard.recipes.episode_sections import EpisodeData
from regard.recipes.generated_sections import GeneratedData, OpinionsData
from regard.recipes.plugins import described
from regard.recipes.sections import Recipe, TokenizerPart
from regard.recipes.span_section import SpanData
from regard.registry import registered
from regard.specials import IGNORE
from regard.tasks.kinds import TASKS
from regard.tasks.task import Encoders

Name = Literal["train", "valid", "test"]
Column = TypeVar("Column", str, int, str | int)
FIELDS: dict[str, tuple[str, str | None]] = {name: (task.question, task.answer) for name, task in TASKS.items()}
"""What each task calls what is read, and what is to be said."""

GENERATED: dict[str, Callable[..., Generated]] = {
    "dates": Dates,
    "diaries": Diaries,
    "digits": Digits,
    "endings": Endings,
    "glossary": Glossary,
    "opinions": Opinions,
    "reviews": Reviews,
    "tales": Tales,
    "world": World,
}
"""What makes the data of each format that is made on the spot."""


@dataclass(frozen=True)
class Split:
    """One split: its examples as text, and as ids where they have any."""

    examples: Examples
    encoded: Corpus | None

    @property
    def corpus(self) -> Corpus:
        """The ids."""
        assert self.encoded is not None, "what is drawn has no ids"
        return self.encoded

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """How often each example is learned from in an epoch; None for once."""
        if not isinstance(self.examples, Mixture) or all(weight == 1 for weight in self.examples.weights):
            return None
        return self.examples.row_weights(self.corpus.parts)

    @property
    def members(self) -> Members:
        """The nodes of a graph."""
        assert isinstance(self.examples, Members)
        return self.examples

    @property
    def drawn(self) -> Drawn:
        """What is drawn when it is needed."""
        assert isinstance(self.examples, Drawn)
        return self.examples

    def __len__(self) -> int:
        if self.encoded is not None:
            return len(self.encoded)
        return len(self.members if isinstance(self.examples, Members) else self.drawn)

    def texts(self, field: str) -> list[str]:
        """All texts of a field, in the order of the corpus; words and tags with spaces between."""
        return [_joined(example.fields[field]) for example in self.examples]


def examples(recipe: Recipe, name: Name) -> Examples | None:
    """The examples of a split; None if the recipe names none."""
    data = recipe.data
    if isinstance(data, EpisodeData):
        sizes = {"train": ENDLESS, "valid": data.valid_size, "test": data.test_size}
        return Drawn(ALGORITHMS[data.format](**data.rule()), name, size=sizes[name], seed=data.seed)
    if isinstance(data, CommunitiesData | PlanetoidData | GraphData):
        graph = graph_of(data)
        return Members(graph, name) if name in graph.parts and (name != "test" or len(graph.parts[name])) else None
    if isinstance(data, GeneratedData):
        more = {"labelled": recipe.task == "classify"} if isinstance(data, OpinionsData) else {}
        return _joined_texts(recipe, GENERATED[data.format](**data.arguments(name), **more))
    if isinstance(data, HubData):
        given = getattr(data, name)
        return (
            None
            if given is None
            else _joined_texts(
                recipe,
                Hub(
                    data.name,
                    given,
                    _columns(recipe, data.source, data.target),
                    config=data.config,
                    bad_lines=data.bad_lines,
                    target_kind=_target_kind(recipe),
                ),
            )
        )
    if isinstance(data, FolderData):
        apart = name == "test" and data.test is not None
        folder = (data.root or Path()) / (str(data.test) if apart else data.train)
        found = Labelled(folder, "file", **data.reading())
        if apart or (name == "test" and not data.split.test):
            return found if apart else None
        return _part(found, data.split, name, recipe)
    file = getattr(data, name)
    if file is not None and (name != "train" or data.split is None):
        return _read(recipe, data, file)
    if data.split is None or (name == "test" and not data.split.test):
        return None
    everything, split = _read(recipe, data, data.train), data.split
    if isinstance(everything, Mixture) and (
        name == "train" or split.by == "order"
    ):  # each keeps its weight and its end
        return everything.each(lambda part: _part(part, split, name, recipe))
    return _part(everything, split, name, recipe)


def _read(
    recipe: Recipe,
    data: SplitFiles | PairsData,
    file: str | PairFiles | tuple[WeightedFile, ...] | tuple[WeightedPair, ...],
) -> Examples:
    """A file of the data, a pair of them, or several with weights."""
    if not isinstance(file, tuple):
        return _file(recipe, data, file)
    parts = (_file(recipe, data, one.named) for one in file)
    return Mixture(tuple(parts), tuple(one.weight for one in file))


def _file(recipe: Recipe, data: SplitFiles | PairsData, file: str | PairFiles) -> Examples:
    found = _joined_texts(recipe, file_reader(recipe, data, file))
    if (one := registered("reader").get(getattr(data, "format", ""))) is None:
        return found
    needed = [field for field in FIELDS[recipe.task] if field is not None]
    source = described((one.module,))[one.module]["hash"]
    return ForeignExamples(found, one.name, tuple(needed), source)


def file_reader(recipe: Recipe, data: SplitFiles | PairsData, file: str | PairFiles) -> Reader:
    """What reads a file of the data, or a pair of them."""
    root = data.root or Path()
    reading, target_kind = data.reading(), _target_kind(recipe)
    if isinstance(file, PairFiles):
        return Pairs(root / file.source, root / file.target, **reading)
    path = root / file
    if (one := registered("reader").get(getattr(data, "format", ""))) is not None:
        own = data.model_dump(exclude={*SplitFiles.model_fields, "format"})
        made: Reader = one.made(path, target_kind=target_kind, **own, **reading)
        return made
    if isinstance(data, TableData):
        delimiter = None if data.delimiter is None else {"tab": "\t", "comma": ","}[data.delimiter]
        return Table(
            path,
            _columns(recipe, data.source, data.target),
            header=data.header,
            delimiter=delimiter,
            target_kind=target_kind,
            **reading,
        )
    if isinstance(data, JsonlData):
        return Jsonl(path, _columns(recipe, data.source, data.target), target_kind=target_kind, **reading)
    if isinstance(data, CmudictData):
        return Cmudict(path, stress=data.stress, **reading)
    if isinstance(data, TextData):
        return Text(path, blank=data.blank, ends=data.ends, **reading)
    if isinstance(data, LabelledData):
        return Labelled(path, data.label, separator=data.separator, target_kind=target_kind, **reading)
    if isinstance(data, ConlluData):
        return Conllu(path, _columns(recipe, data.source, data.target), **reading)
    if isinstance(data, StoriesData):
        return Stories(path, **reading)
    if isinstance(data, SquadData | SpansData):
        return (Squad if isinstance(data, SquadData) else Spans)(path, **reading)
    assert isinstance(data, ColumnsData)
    return Columns(
        path,
        _columns(recipe, data.source, data.target),
        separator=data.separator,
        comment=data.comment,
        **reading,
    )


def _target_kind(recipe: Recipe) -> TargetKind:
    """The form of the label of an example."""
    return ONE_LABEL if recipe.target is None else recipe.target.target_form()


def _columns(recipe: Recipe, source: Column | list[Column], target: Column) -> dict[str, Column]:
    """Where each field of the task stands; two texts are two fields, in most tasks until they are joined."""
    question, answer = FIELDS[recipe.task]
    second = TASKS[recipe.task].context or SECOND
    read = dict(zip((question, second), source, strict=True)) if isinstance(source, list) else {question: source}
    return read if answer is None else {**read, answer: target}


def _joined_texts(recipe: Recipe, found: Examples) -> Examples:
    """Two texts as one, where a recipe names two; and words with their letters, where a model reads them."""
    if recipe.spells:
        return Spelt(found)
    return Joined(found) if recipe.pairs else found


def _part(everything: Examples, split: SplitSection, name: Name, recipe: Recipe) -> Examples:
    """A split of data that come in one piece."""
    if split.by != "order":
        question, answer = FIELDS[recipe.task]
        by = (answer or question) if split.by == "target" else TASKS[recipe.task].context or question
        return HashSplit(everything, name, by=by, valid=split.valid, test=split.test, salt=split.salt)
    learned, validated = 1 - split.valid - split.test, 1 - split.test
    begin, end = {"train": (0.0, learned), "valid": (learned, validated), "test": (validated, 1.0)}[name]
    return Slice(everything, begin, end)


def learned_encoders(
    recipe: Recipe, train: Examples, known: Encoders | None = None
) -> dict[str, Tokenizer | Labels | Numbers]:
    """What turns each field into ids, learned from the training split but for what is `known`."""
    if not TASKS[recipe.task].encoded:
        return {}
    section = recipe.tokenizer
    question, answer = FIELDS[recipe.task]

    def values(field: str) -> Iterator[Value]:
        return (example.fields[field] for example in train)

    masked = recipe.reads_pairs
    if answer is None:
        return {question: _learned(section, values(question), masked=masked)}
    if recipe.task == "spans":
        read = (known or {}).get("text")  # of a pretrained run
        both = read or _learned(section, chain(values("context"), values("question")), masked=masked)
        assert isinstance(both, Tokenizer)
        return {"question": both, "context": both}
    if question in TASKS[recipe.task].plain:
        return {answer: Labels.train(values(answer))}
    if context := TASKS[recipe.task].context:
        joint = _learned(section, chain(values(context), values(question), values(answer)))
        return {context: joint, question: joint, answer: joint}
    if recipe.task != "translate":
        read = (known or {}).get(question) or _learned(section, values(question), masked=masked)
        spelt = {LETTERS: _letters(values(question))} if recipe.spells else {}
        return {question: read, **spelt, answer: _target_kind(recipe).learn(values(answer))}
    if section.joint:
        joint = _learned(section, chain(values(question), values(answer)))
        return {question: joint, answer: joint}
    return {
        question: _learned(section, values(question)),
        answer: _learned(section.target or section, values(answer)),
    }


def _letters(texts: Iterator[Value]) -> Tokenizer:
    """The letters of all words."""
    return Tokenizer.train(texts, kind="characters")


def _learned(part: TokenizerPart, texts: Iterator[Value], *, masked: bool = False) -> Tokenizer:
    if part.kind == "file":
        assert part.path is not None
        return import_tokenizer(part.path, masked=masked)
    return Tokenizer.train(
        texts,
        kind=part.kind,
        split=part.split if part.kind == "words" else None,
        size=part.size,
        min_frequency=part.min_frequency,
        lowercase=part.lowercase,
        normalise=part.normalise,
        masked=masked,
    )


def prepared(recipe: Recipe, name: Name, encoders: Encoders, cache: Path) -> Split | None:
    """A split encoded, from the cache if it is there."""
    found = examples(recipe, name)
    if name == "test":  # what training never showed, no model can say: it counts as wrong
        encoders = {
            field: replace(one, lenient=True) if isinstance(one, Labels) else one for field, one in encoders.items()
        }
    if found is None:
        return None
    if isinstance(found, Drawn):
        return Split(found, None)
    if isinstance(found, Members):
        _check_labels(found, encoders["label"])
        return Split(found, None)
    corpus = _windows(recipe, found, encoders, cache) or Corpus.build(found, encoders, cache)
    for field, one in encoders.items():
        ids = corpus.ids(field)
        if isinstance(one, Labels) and len(ids) and (ids == IGNORE).all():
            raise DataError(
                f"no {field} of the split {name} occurs in the training data; look whether they are the same"
            )
    return Split(found, corpus)


def _windows(recipe: Recipe, found: Examples, encoders: Encoders, cache: Path) -> Corpus | None:
    """The windows of passages that answers are spans of; None of other data."""
    data = recipe.data
    if not isinstance(data, SpanData):
        return None
    tokenizer = encoders["context"]
    assert isinstance(tokenizer, Tokenizer)
    cutting = Cutting(tokenizer, data.window, data.overlap)
    cut = found.each(lambda part: Windows(part, cutting)) if isinstance(found, Mixture) else Windows(found, cutting)
    return Corpus.build(cut, {**encoders, "span": Places()}, cache)


def _check_labels(members: Members, labels: Tokenizer | Labels | Numbers) -> None:
    """Some of the labels are known; those that are not count as wrong."""
    assert isinstance(labels, Labels)
    for example in members:
        if example.fields["label"] in labels.names:
            return
    raise DataError(
        f"no label of the split {members.split} occurs in the training data; look whether they are the same"
    )


def graph_of(data: object) -> Graph:
    """The graph that a recipe learns from; read once, and again when its files have changed."""
    source = _source(data)
    stamps = tuple((path.stat().st_mtime_ns, path.stat().st_size) for path in source.files if path.exists())
    return _graph(source, stamps)


@lru_cache(maxsize=2)
def _graph(source: Communities | Planetoid | GraphTables, stamps: tuple[tuple[int, int], ...]) -> Graph:
    return source.read()


def _source(data: object) -> Communities | Planetoid | GraphTables:
    if isinstance(data, CommunitiesData):
        return Communities(**data.model_dump(exclude={"format"}))
    if isinstance(data, PlanetoidData):
        return Planetoid((data.root or Path()) / data.file, data.normalise)
    assert isinstance(data, GraphData)
    root = data.root or Path()
    return GraphTables(
        root / data.nodes,
        root / data.edges,
        **data.split.model_dump(),
        **data.model_dump(include={"directed", "header", "normalise", "encoding", "max_line", "bad_lines"}),
    )


def _joined(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)
