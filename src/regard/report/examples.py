"""Examples of a report: some of a split, each with its answer and its loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.recipes.sections import Recipe
from regard.tasks.measurement import Measured, inputs_and_references
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import Task


@dataclass(frozen=True)
class Row:
    """Example of a split with the answer of a model.

    Attributes:
        asked: the input, as `Task.predict` takes it.
        prediction: the best answer.
        references: all right answers.
        right: whether the answer is one of them; None where that is no question.
        loss: mean -log p of what is right, per unit; None where an example has none of its own.
    """

    asked: Any
    prediction: Prediction
    references: tuple[str, ...] = ()
    right: bool | None = None
    loss: float | None = None


def rows(model: nn.Module, task: Task, split: Split, recipe: Recipe, measured: Measured, *, most: int) -> list[Row]:
    """Return examples evenly spread over a split, the largest loss first where losses are known.

    Args:
        model: that answers.
        task: of the run, bound to the model.
        split: that was measured.
        recipe: of the run.
        measured: with a prediction for each example, or some continuations of a language model.
        most: how many examples.
    """
    if task.answer is None:
        return [Row(one.source, one) for one in measured.predictions[:most]]
    inputs, references = inputs_and_references(task, split, recipe)
    if len(inputs) != len(measured.predictions):
        return []
    numbers = _numbers(task, split, recipe)
    chosen = range(0, len(inputs), max(1, -(-len(inputs) // most)))
    losses = _losses(model, task, split, [numbers[place] for place in chosen]) if numbers else [None] * len(chosen)
    found = [
        Row(
            inputs[place],
            measured.predictions[place],
            tuple(references[place]),
            task.right(measured.predictions[place].text, references[place]),
            loss,
        )
        for place, loss in zip(chosen, losses, strict=True)
    ]
    return sorted(found, key=lambda row: -math.inf if row.loss is None else row.loss, reverse=True)


def shown(examples: Sequence[Row], count: int) -> list[Row]:
    """Return some examples from the hardest to the easiest, both ends among them.

    >>> [row.asked for row in shown([Row(n, None) for n in range(9)], 3)]
    [0, 4, 8]
    """
    if len(examples) <= count or count < 2:
        return list(examples[:count])
    return [examples[round(place * (len(examples) - 1) / (count - 1))] for place in range(count)]


def _numbers(task: Task, split: Split, recipe: Recipe) -> list[int]:
    """Return the number of the first example of each input; none where a corpus has other rows than examples."""
    merges, firsts, count = task.merges_equal_inputs(recipe), dict[Any, int](), 0
    for count, example in enumerate(split.examples, start=1):
        firsts.setdefault(task.ask(example.fields) if merges else count, count - 1)
    return list(firsts.values()) if split.encoded is None or len(split.encoded) == count else []


def _losses(model: nn.Module, task: Task, split: Split, numbers: Sequence[int]) -> list[float | None]:
    """Return the loss of each of some examples, alone in its batch."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            return [_loss(model, task, split, number) for number in numbers]
    finally:
        model.train(training)


def _loss(model: nn.Module, task: Task, split: Split, number: int) -> float | None:
    batch = task.example_batch(split, number)
    if batch is None or not batch.tokens:
        return None
    found = task.loss(model, batch.to(next(model.parameters()).device))
    return float(found.nll.double()) / found.tokens if found.tokens else None
