"""Setup of a recipe: task, splits and training feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import ExampleFeed, Feed
from regard.data.fields.labels import Labels
from regard.data.problems import DataError
from regard.evaluate.metrics import Metric
from regard.evaluate.texts import paired_texts
from regard.recipes.sections import Recipe
from regard.tasks.build import make_model
from regard.tasks.class_weights import ClassWeights
from regard.tasks.position_check import check_positions
from regard.tasks.reinforce import check_draws
from regard.tasks.splits import Split, encode_split, examples
from regard.tasks.task import FieldEncoders, Task, task_class
from regard.tasks.word_vectors import check_vector_files, check_vectors


@dataclass(frozen=True)
class Setup:
    """Task, splits and training feed of a recipe.

    Attributes:
        task: the task, with its tokenizers and labels.
        train, valid, test: the data; `test` is None if the recipe has no test split.
        feed: training batches.
    """

    task: Task
    train: Split
    valid: Split
    test: Split | None
    feed: Feed

    def skipped(self) -> list[str]:
        """Return a message per split about lines that were skipped."""
        return [f"{name}: {corpus.skipped}" for name, corpus in self._corpora() if corpus.skipped.count]

    def file_notes(self) -> list[str]:
        """Return notes per split about files that were converted or look damaged."""
        return [f"{name}: {corpus.file_notes}" for name, corpus in self._corpora() if corpus.file_notes.count]

    def _corpora(self) -> list[tuple[str, Corpus]]:
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        found = [(name, None if split is None else split.encoded) for name, split in splits.items()]
        return [(name, corpus) for name, corpus in found if corpus is not None]


def prepare(recipe: Recipe, cache: Path, encoders: FieldEncoders | None = None) -> Setup:
    """Read and encode the data.

    Args:
        recipe: the recipe.
        cache: folder of encoded corpora.
        encoders: encoders of an existing run; missing ones (all of them for None) are learned from the training split.
    """
    made, known = task_class(recipe.task), dict(encoders or {})
    if encoders is None:  # an existing run has the vectors in its checkpoint
        check_vector_files(recipe)
    wanted = made.encoder_fields(recipe)
    if encoders is None or any(field not in known for field in wanted):
        train = examples(recipe, "train")
        assert train is not None
        known = dict(made.learn_encoders(recipe, train, known))
    known = {field: known[field] for field in wanted}  # the pretrained run may have more fields
    task = made.of(recipe, known)
    splits = {name: encode_split(recipe, name, known, cache) for name in ("train", "valid", "test")}
    if splits["train"] is None or splits["valid"] is None:
        raise DataError("a recipe needs the splits train and valid")
    task = weighted_task(recipe, task, splits["train"])
    feed = task.training_feed(recipe, splits["train"])
    setup = Setup(task, splits["train"], splits["valid"], splits["test"], feed)
    _foresee(recipe, setup, begins=encoders is None)
    return setup


def _foresee(recipe: Recipe, setup: Setup, *, begins: bool) -> None:
    """Check at the start for errors that would otherwise occur in a later update or validation."""
    for split in (setup.valid, setup.test):
        if split is not None:
            setup.task.measuring_feed(recipe, split, carries=False)
    with torch.device("meta"):
        model = make_model(recipe, setup.task)
    if begins:
        check_vectors(recipe, setup.task, model)
    check_draws(model)
    setup.task.check_model(model)
    splits = {"train": setup.train, "valid": setup.valid, "test": setup.test}
    check_positions(model, recipe, setup.task, splits, _dropped(setup.feed))
    check_references(recipe, setup.task, (setup.valid, setup.test))


def _dropped(feed: Feed) -> Sequence[int]:
    """Return the indices of examples that exceed the size of a batch."""
    inner = feed.unwrapped
    return tuple(inner.batches.dropped) if isinstance(inner, ExampleFeed) else ()


def check_references(recipe: Recipe, task: Task, splits: Sequence[Split | None]) -> None:
    """Check that all metrics accept the references of the splits to measure.

    Otherwise the first validation would fail, for instance on references in subword tokens or with unknown symbols,
    or on tags outside a chunk scheme.

    Raises:
        DataError: the first example whose reference a metric rejects, with its location.
    """
    metrics = recipe.metrics if task.answer is not None else []
    for split in splits:
        for example in split.examples if split is not None and metrics else ():
            right = task.references(example.fields)
            for metric in metrics:
                try:
                    _check(metric, right)
                except ValueError as problem:
                    raise DataError(f"{example.where}: {problem}; mend it, or leave the metric out") from None


def _check(metric: Metric, right: list[str]) -> None:
    paired_texts(metric.label, [""], [right])
    if metric.compares == "chunks":
        metric(right[:1], [right])


def weighted_task(recipe: Recipe, task: Task, train: Split) -> Task:
    """Return the task with the class weights of the recipe; the task itself if there are none."""
    wanted = recipe.train.class_weights
    if wanted is None:
        return task
    labels = task.encoders[str(task.answer)]
    assert isinstance(labels, Labels)
    if wanted == "balanced":
        return task.weighted(ClassWeights.balanced(_counts(train, str(task.answer), labels)))
    return task.weighted(ClassWeights.named(wanted, labels))


def _counts(train: Split, field: str, labels: Labels) -> NDArray[np.int64]:
    """Count the occurrences of each label, [C]."""
    if train.encoded is not None:
        ids = train.encoded.ids(field)
    else:  # one label per node of a graph
        ids = np.concatenate(labels.encode_all([example.fields[field] for example in train.examples]))
    return np.bincount(ids, minlength=labels.size)
