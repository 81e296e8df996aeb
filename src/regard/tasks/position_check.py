"""Length check of a dataset against the learned positional embeddings of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import nn

from regard.models.bert import Bert, BertEncoder
from regard.models.copying import Copying
from regard.models.generator import EncoderDecoder
from regard.nn.positions import LearnedPositions
from regard.recipes.errors import RecipeError
from regard.recipes.sections import Recipe
from regard.specials import FRAME
from regard.tasks.splits import Split
from regard.tasks.task import Task


def check_positions(
    model: nn.Module, recipe: Recipe, task: Task, splits: Mapping[str, Split | None], dropped: Collection[int] = ()
) -> None:
    """Check that learned positional embeddings cover all texts; other positions have no limit.

    Limits that follow from the recipe alone (windows, output length) are checked when it is parsed, in
    `regard.recipes.checks`.

    Args:
        model: model of the recipe, on any device.
        recipe: determines whether texts are split into windows.
        task: encodes sources and targets.
        splits: the data.
        dropped: training examples that exceed the batch size and are skipped.

    Raises:
        RecipeError: a text is too long; the message names the key to change.
    """
    if isinstance(model, Copying):
        model = model.model
    if isinstance(model, EncoderDecoder):
        texts = list(task.longest_texts(recipe, splits, dropped))
        read = [(what, needed) for field, what, needed in texts if field != task.answer]
        written = [(what, needed) for field, what, needed in texts if field == task.answer]
        _check(model.encoder, recipe, read)
        _check(nn.ModuleList(part for name, part in model.named_children() if name != "encoder"), recipe, written)
        return
    samples = list(task.longest_samples(recipe))
    _check(model, recipe, list(task.longest_inputs(recipe, splits, dropped)), samples)


def _check(
    part: nn.Module, recipe: Recipe, read: Sequence[tuple[str, int]], samples: Sequence[tuple[str, int]] = ()
) -> None:
    """Check one part of a model against its texts, and against samples, which have no BERT frame."""
    tables = [len(module.table) for module in part.modules() if isinstance(module, LearnedPositions)]
    if not tables:
        return
    frame = sum(_framed(module) for module in part.modules() if isinstance(module, BertEncoder | Bert))
    for what, needed in (*samples, *((what, needed + frame) for what, needed in read)):
        if needed > min(tables):
            key = ".".join(("model", *(_learned(recipe.model.model_dump(), min(tables)) or ()), "max_length"))
            raise RecipeError(f"{key} is {min(tables)}, too short for {what}; raise it to {needed} or more")


def _framed(module: BertEncoder | Bert) -> int:
    """Number of special tokens of a BERT input: `<s>`, `</s>`, and a separator between the two parts of a window."""
    return FRAME if isinstance(module, BertEncoder) else int(module.next_map is not None)


def _learned(arguments: Mapping[str, Any], size: int) -> tuple[str, ...] | None:
    """Recipe keys of the part of a model with `size` learned positions; None if there is none."""
    learned = arguments.get("positions") == "learned" or arguments.get("kind") == "bert"
    if learned and arguments.get("max_length") == size:
        return ()
    for key, value in arguments.items():
        rest = _learned(value, size) if isinstance(value, Mapping) else None
        if rest is not None:
            return (key, *rest)
    return None
