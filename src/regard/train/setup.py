"""From a recipe to what is trained: the task, the data, the feed, the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from regard.data import DataError
from regard.data.bpe_dropout import BPEDropout
from regard.data.episodes import ALGORITHMS
from regard.data.episodes.drawn import ENDLESS, TOGETHER
from regard.data.masking import Masking
from regard.data.spelling import LETTERS
from regard.data.target_kinds import OneLabel
from regard.data.tokenizer import Tokenizer
from regard.models.build import build
from regard.nn.checkpointing import checkpoint_gradients
from regard.recipes.data_sections import TextData
from regard.recipes.episode_sections import EpisodeData
from regard.recipes.sections import Recipe
from regard.recipes.span_section import SpanData
from regard.specials import BOS, EOS, FRAME
from regard.tasks.answering import Answering
from regard.tasks.bits import Bits
from regard.tasks.dictionary import read_dictionary
from regard.tasks.kinds import TASKS
from regard.tasks.labelling import Classification, Tagging
from regard.tasks.language_modelling import LanguageModelling
from regard.tasks.masked_language_modelling import MaskedLanguageModelling
from regard.tasks.nodes import Nodes
from regard.tasks.recalling import Recalling
from regard.tasks.reinforce import RewardedDraws, check_draws
from regard.tasks.scheduled_sampling import Exposure, ScheduledSampling
from regard.tasks.spans import SpanAnswering
from regard.tasks.targets.label import LabelTarget
from regard.tasks.targets.label_set import LabelSetTarget
from regard.tasks.targets.number import NumberTarget
from regard.tasks.targets.target import Target
from regard.tasks.task import Encoders, Task
from regard.tasks.translation import Translation
from regard.train.class_weights import weighted_task
from regard.train.drawn_feed import DrawnFeed
from regard.train.feed import ExampleFeed, Feed, StreamFeed
from regard.train.graph_feed import GraphFeed
from regard.train.masked_feed import FIXED, MaskedFeed, WindowFeed
from regard.train.places import check_places
from regard.train.references import check_references
from regard.train.splits import FIELDS, Split, examples, graph_of, learned_encoders, prepared

MEASURED = 64
"""Examples side by side when a model is measured."""
LONG_WINDOW = 512
"""Tokens that a model which carries its state reads at once when it is measured."""


@dataclass(frozen=True)
class Setup:
    """All that a recipe says about what is learned.

    Attributes:
        task: what the model is trained for, with its tokenizers and labels.
        train, valid, test: the data; `test` is None where the recipe names none.
        feed: the batches of `train`.
    """

    task: Task
    train: Split
    valid: Split
    test: Split | None
    feed: Feed

    def skipped(self) -> list[str]:
        """Which lines of the data were left out, a sentence for each split that lacks some."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        return [
            f"{name}: {split.encoded.skipped}"
            for name, split in splits.items()
            if split is not None and split.encoded is not None and split.encoded.skipped.count
        ]


def prepare(recipe: Recipe, cache: Path, encoders: Encoders | None = None) -> Setup:
    """Read and encode the data.

    Args:
        recipe: what to prepare.
        cache: the folder of encoded corpora.
        encoders: those of an existing run; what they lack, all of it for None, is learned from the training split.
    """
    wanted = [one for one in FIELDS[recipe.task] if one is not None and one not in TASKS[recipe.task].plain]
    wanted += [LETTERS] if recipe.spells else []
    if encoders is None or any(field not in encoders for field in wanted):
        train = examples(recipe, "train")
        assert train is not None
        encoders = learned_encoders(recipe, train, encoders)
    unread = () if recipe.spells else TASKS[recipe.task].beside  # letters of the run that this one begins with
    encoders = {field: one for field, one in encoders.items() if field not in unread}
    task = make_task(recipe, encoders)
    splits = {name: prepared(recipe, name, encoders, cache) for name in ("train", "valid", "test")}
    if splits["train"] is None or splits["valid"] is None:
        raise DataError("a recipe needs the splits train and valid")
    task = weighted_task(recipe, task, splits["train"])
    feed = make_feed(recipe, task, splits["train"])
    setup = Setup(task, splits["train"], splits["valid"], splits["test"], feed)
    _foresee(recipe, setup)
    return setup


def _foresee(recipe: Recipe, setup: Setup) -> None:
    """What would only fail at an update or a validation to come fails now."""
    for split in (setup.valid, setup.test):
        if split is not None:
            measuring_feed(recipe, setup.task, split, carries=False)
    with torch.device("meta"):
        model = make_model(recipe, setup.task)
    check_draws(model)
    if isinstance(setup.task, Bits):
        setup.task.check(model)
    splits = {"train": setup.train, "valid": setup.valid, "test": setup.test}
    feed = setup.feed.inner if isinstance(setup.feed, MaskedFeed) else setup.feed
    dropped = feed.batches.dropped if isinstance(feed, ExampleFeed) else ()
    check_places(model, recipe, setup.task, splits, dropped)
    check_references(recipe, setup.task, (setup.valid, setup.test))


def make_task(recipe: Recipe, encoders: Encoders) -> Task:
    """What the model is trained for."""
    smoothing = recipe.train.label_smoothing
    if recipe.task == "classify":
        return Classification(encoders, smoothing, pairs=recipe.pairs, target_of=_target(recipe, encoders))
    if recipe.task == "tag":
        return Tagging(encoders, smoothing)
    if recipe.task == "masked_language_model":
        return MaskedLanguageModelling(encoders, smoothing)
    if recipe.task == "answer":
        return Answering(encoders, smoothing)
    if isinstance(recipe.data, SpanData):
        return SpanAnswering(encoders, recipe.data.window, recipe.data.overlap, recipe.data.longest_answer)
    if recipe.task == "nodes":
        return Nodes(graph_of(recipe.data), encoders, smoothing)
    if isinstance(recipe.data, EpisodeData):
        return Bits(ALGORITHMS[recipe.data.format](**recipe.data.rule()))
    given = recipe.train.exposure
    sampling = None if given.sampling is None else ScheduledSampling(**given.sampling.model_dump())
    exposure = Exposure(sampling, given.word_dropout, given.corruption)
    if recipe.task == "language_model":
        first = BOS if recipe.train.batch.window is None else EOS if _ended(recipe) else None
        return LanguageModelling(encoders, first, smoothing, exposure, recipe.decode.generate_unknown)
    if recipe.task == "recall":
        memory = recipe.decode.memory
        return Recalling(encoders, smoothing, exposure, None if memory is None else Path(memory))
    return Translation(
        encoders, smoothing, exposure, RewardedDraws(**recipe.train.hard.model_dump()), _dictionary(recipe)
    )


def _target(recipe: Recipe, encoders: Encoders) -> Callable[[Any], Target]:
    """The form of what a classifier answers with, from its encoder.

    Raises:
        DataError: the encoder is that of a run with another form.
    """
    given, threshold = recipe.target, recipe.decode.threshold
    form = OneLabel() if given is None else given.target_form()
    if type(encoders["label"]) is not form.encoder:
        kind = "label" if given is None else given.target_kind
        raise DataError(f"data.target_kind is {kind!r}, and the run was trained with another; give it the same")
    if given is None or given.target_kind == "label":
        return LabelTarget
    if given.target_kind == "number":
        return NumberTarget
    chosen = None if threshold == "tuned" else threshold
    return partial(LabelSetTarget, separator=given.label_separator, threshold=chosen)


def _dictionary(recipe: Recipe) -> dict[str, str] | None:
    """What unknown words become; None where they stay."""
    if recipe.decode.unknown == "keep":
        return None
    return {} if recipe.decode.dictionary is None else read_dictionary(Path(recipe.decode.dictionary))


def make_model(recipe: Recipe, task: Task) -> nn.Module:
    """The model of a recipe, with fresh parameters."""
    model = build(recipe.model.kind, *task.sizes, **task.fitted(recipe.model.arguments(scale=task.scale)))
    if recipe.train.gradient_checkpointing:
        checkpoint_gradients(model)
    return model


def make_feed(recipe: Recipe, task: Task, split: Split) -> Feed:
    """The batches that a model is trained on."""
    given = recipe.train.batch
    if isinstance(task, Bits):
        assert given.sentences is not None
        return DrawnFeed(split.drawn, given.sentences)
    if isinstance(task, Nodes):
        return GraphFeed(task, split.members)
    if isinstance(task, MaskedLanguageModelling):
        return _masked_feed(recipe, task, split)
    if given.window is not None:
        assert given.sentences is not None
        return StreamFeed(split.corpus, rows=given.sentences, window=given.window, ends=_ended(recipe))
    return ExampleFeed(
        split.corpus,
        framed=_framed(task),
        counted=task.counted,
        tokens=given.tokens,
        sentences=given.sentences,
        seed=recipe.train.seed,
        weights=split.weights,
        dropouts=_dropouts(recipe, task),
    )


def _dropouts(recipe: Recipe, task: Task) -> dict[str, BPEDropout]:
    """What cuts the texts of each field anew in each epoch, where the recipe asks for it."""
    section, found = recipe.tokenizer, {}
    for field, encoder in task.encoders.items():
        part = section.target if field == task.answer and section.target is not None else section
        if part.dropout and isinstance(encoder, Tokenizer):
            found[field] = BPEDropout(encoder, part.dropout, seed=recipe.train.seed, longest=_positions(recipe))
    return found


def _positions(recipe: Recipe) -> int | None:
    """How many ids of a text, a beginning and an end around them, have learned positions; None where all have one."""
    inner = getattr(recipe.model, "model", recipe.model)
    part: Any = getattr(inner, "encoder", inner)
    learned = part.kind == "bert" or getattr(part, "positions", None) == "learned"
    return part.max_length - FRAME if learned else None


def measuring_feed(recipe: Recipe, task: Task, split: Split, *, carries: bool) -> Feed:
    """The batches that a model is measured on, one epoch of them in a fixed order.

    A model that carries its state reads longer windows than it was trained on, which is the same and faster.
    """
    window = recipe.train.batch.window
    if isinstance(task, Bits):
        if len(split) == ENDLESS:
            raise DataError("sequences to learn from are drawn without end; measure on valid or test")
        return DrawnFeed(split.drawn, TOGETHER)
    if isinstance(task, Nodes):
        return GraphFeed(task, split.members)
    if isinstance(task, MaskedLanguageModelling):
        return _masked_feed(recipe, task, split, measuring=True)
    if window is not None:
        steps, rows = max(window, LONG_WINDOW) if carries else window, recipe.evaluate.rows
        tokens = len(split.corpus.ids(task.question)) + _ended(recipe) * len(split.corpus)
        if tokens < 2 * rows:
            raise DataError(
                f"evaluate.rows is {rows}, and a text of {tokens} tokens is measured, which needs two a row; make it "
                "smaller, or the text longer"
            )
        return StreamFeed(split.corpus, rows=rows, window=steps, ends=_ended(recipe))
    return ExampleFeed(
        split.corpus, framed=_framed(task), counted=task.counted, tokens=None, sentences=MEASURED, shuffle=False
    )


def _masked_feed(recipe: Recipe, task: MaskedLanguageModelling, split: Split, *, measuring: bool = False) -> Feed:
    """Windows or texts with words hidden: anew in each epoch, or always the same where a model is measured."""
    given, inner, seed = recipe.train.batch, None, FIXED if measuring else recipe.train.seed
    rows = MEASURED if measuring else given.sentences
    if given.window is not None:
        assert rows is not None
        pairs = bool(getattr(recipe.model, "next_sentence", False))
        inner = WindowFeed(split.corpus, rows=rows, window=given.window, pairs=pairs, seed=seed, shuffle=not measuring)
    tokens = None if measuring else given.tokens
    feed = inner or ExampleFeed(
        split.corpus,
        framed=(),
        counted="text",
        tokens=tokens,
        sentences=rows,
        seed=seed,
        shuffle=not measuring,
        weights=None if measuring else split.weights,
        dropouts=None if measuring else _dropouts(recipe, task),
    )
    masked = MaskedFeed(feed, Masking(**recipe.train.masking.model_dump()), task.tokenizer, seed=seed)
    masked.check(split.examples.files)
    return masked


def _framed(task: Task) -> tuple[str, ...]:
    """The field that is generated, with a beginning and an end; labels have neither."""
    if isinstance(task, Translation | Recalling):
        return ("target",)
    return ("text",) if isinstance(task, LanguageModelling) else ()


def _ended(recipe: Recipe) -> bool:
    """Whether texts of a stream end; where line ends are characters of the text, they say it themselves."""
    return not (isinstance(recipe.data, TextData) and recipe.data.ends)
