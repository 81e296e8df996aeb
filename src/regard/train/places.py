"""Whether a table of learned positions has a place for every token that it will meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from torch import nn

from regard.data.tokenizer import Tokenizer
from regard.models.bert import Bert, BertEncoder
from regard.nn.positions import Learned
from regard.recipes.errors import RecipeError
from regard.recipes.sections import Recipe
from regard.specials import FRAME
from regard.tasks.language_modelling import SAMPLED
from regard.tasks.spans import SpanAnswering
from regard.tasks.task import Task
from regard.train.splits import Split


def check_places(
    model: nn.Module, recipe: Recipe, task: Task, splits: Mapping[str, Split | None], dropped: Iterable[int] = ()
) -> None:
    """See that learned positions reach as far as texts do; other positions have no end.

    What the recipe itself says, windows and the length of outputs, was looked at when it was read
    (`regard.recipes.checks`).

    Args:
        model: of the recipe, its tables; on any device.
        recipe: whether texts are read in windows.
        task: which texts are read and written.
        splits: the texts.
        dropped: examples of the split train that no batch has room for.

    Raises:
        RecipeError: what is longer, and which key to change.
    """
    tables = [len(module.table) for module in model.modules() if isinstance(module, Learned)]
    if not tables:
        return
    frame = sum(_framed(module) for module in model.modules() if isinstance(module, BertEncoder | Bert))
    read = [(what, needed + frame) for what, needed in _inputs(recipe, task, splits, dropped)]
    for what, needed in (*_samples(recipe), *read):
        if needed > min(tables):
            key = ".".join(("model", *(_learned(recipe.model.model_dump()) or ()), "max_length"))
            raise RecipeError(f"{key} is {min(tables)}, too short for {what}; raise it to {needed} or more")


def _framed(module: BertEncoder | Bert) -> int:
    """Ids that a BERT reads beside the text: its frame, and an end between the two parts of a window."""
    return FRAME if isinstance(module, BertEncoder) else int(module.next_map is not None)


def _samples(recipe: Recipe) -> Iterator[tuple[str, int]]:
    """What a language model is shown to make of examples: how it is called, and how many places it takes."""
    longest = recipe.search().max_length
    if recipe.task == "language_model":
        yield f"decode.max_length, {longest} tokens behind the {SAMPLED} of an example", longest + SAMPLED


def _inputs(
    recipe: Recipe, task: Task, splits: Mapping[str, Split | None], dropped: Iterable[int]
) -> Iterator[tuple[str, int]]:
    """What is read likewise, a beginning counted and an end not."""
    if recipe.train.batch.window is not None:  # which the recipe was held to
        return
    generated = [] if task.unit != "token" else [task.answer or task.question]
    if recipe.model.kind == "bidirectional":
        generated.append(task.question)
    texts = [field for field, encoder in task.encoders.items() if isinstance(encoder, Tokenizer)]
    for name, split in splits.items():
        if split is not None and isinstance(task, SpanAnswering):
            most = _of_windows(split, task, asked=name != "train")
            yield f"the longest question of the split {name} with its window, {most} tokens (data.window)", most
            continue
        for field in texts:
            if split is None:
                continue
            lengths = np.delete(split.corpus.lengths(field), list(dropped) if name == "train" else [])
            most = int(lengths.max())
            yield f"the longest {field} of the split {name}, {most} tokens", most + (field in generated)


def _of_windows(split: Split, task: SpanAnswering, *, asked: bool) -> int:
    """The most ids of a question, an end and a window: of what is learned from, or of all that is `asked`."""
    corpus = split.corpus
    most = int((corpus.lengths("question") + corpus.lengths("context")).max()) + 1
    if not asked:
        return most
    questions, passages = (
        map(len, task.tokenizer.encode_all(split.texts(field))) for field in (task.question, str(task.context))
    )
    windows = (min(passage, task.window) for passage in passages)
    return max(most, 1 + max(map(sum, zip(questions, windows, strict=True))))


def _learned(arguments: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The keys to the part of a model that has learned positions; None if there is none."""
    if arguments.get("positions") == "learned" or arguments.get("kind") == "bert":
        return ("encoder",) if "encoder" in arguments else ()
    for key, value in arguments.items():
        rest = _learned(value) if isinstance(value, Mapping) else None
        if rest is not None:
            return (key, *rest)
    return None
