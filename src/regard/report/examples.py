"""Example rows of a report: a sample of a split with predictions and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.recipes.sections import Recipe
from regard.tasks.measurement import Measurement
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import Task


@dataclass(frozen=True)
class ExampleRow:
    """Example of a split with a model's prediction.

    Attributes:
        asked: the input of `Task.predict`.
        prediction: the best answer.
        references: all references.
        right: True if the answer matches a reference; None if not applicable.
        loss: mean negative log-likelihood per unit; None if single examples have no loss.
    """

    asked: Any
    prediction: Prediction
    references: tuple[str, ...] = ()
    right: bool | None = None
    loss: float | None = None


@dataclass(frozen=True)
class SplitInputs:
    """Evaluation inputs of a split with their references.

    Attributes:
        inputs: inputs of `Task.predict`, with equal ones merged if the task does so.
        references: all references of each input.
        numbers: index of the first example of each input.
        count: number of examples.
    """

    inputs: list[Any]
    references: list[list[str]]
    numbers: list[int]
    count: int

    @staticmethod
    def of(task: Task, split: Split, recipe: Recipe) -> SplitInputs:
        """Return the inputs of a split with their references, in the order of predictions."""
        merges, count = task.merges_equal_inputs(recipe), 0
        found: dict[Any, tuple[Any, list[str], int]] = {}
        for count, example in enumerate(split.examples, start=1):
            asked, right = task.ask(example.fields), task.references(example.fields)
            found.setdefault(asked if merges else count, (asked, [], count - 1))[1].extend(right)
        inputs, references, numbers = (list(column) for column in zip(*found.values(), strict=True))
        return SplitInputs(inputs, references, numbers, count)


def rows(
    model: nn.Module, task: Task, split: Split, measured: Measurement, questions: SplitInputs | None, *, most: int
) -> list[ExampleRow]:
    """Return evenly spaced examples of a split, sorted by descending loss if losses are known.

    Args:
        model: the model.
        task: task of the run, bound to the model.
        split: the evaluated split.
        measured: its measurement, with a prediction per input, or some continuations of a language model.
        questions: inputs of the split; None for a language model.
        most: maximum number of examples.
    """
    if questions is None:
        return [ExampleRow(_continued(one), one) for one in measured.predictions[:most]]
    total = len(questions.inputs)
    if total != len(measured.predictions):
        return []
    chosen = range(0, total, max(1, -(-total // most)))
    alone = split.encoded is None or len(split.encoded) == questions.count  # no example is split into windows
    losses = _losses(model, task, split, [questions.numbers[place] for place in chosen] if alone else [])
    found = [
        ExampleRow(
            questions.inputs[place],
            measured.predictions[place],
            tuple(questions.references[place]),
            task.right(measured.predictions[place].text, questions.references[place]),
            loss,
        )
        for place, loss in zip(chosen, losses or [None] * len(chosen), strict=True)
    ]
    return sorted(found, key=lambda row: -math.inf if row.loss is None else row.loss, reverse=True)


def sample_examples(examples: Sequence[ExampleRow], count: int) -> list[ExampleRow]:
    """Return evenly spaced examples from the hardest to the easiest, including both ends.

    >>> [row.asked for row in sample_examples([ExampleRow(n, None) for n in range(9)], 3)]
    [0, 4, 8]
    """
    if len(examples) <= count or count < 2:
        return list(examples[:count])
    return [examples[round(place * (len(examples) - 1) / (count - 1))] for place in range(count)]


def _continued(prediction: Prediction) -> str:
    """Return the text that a language model has read at the end: the whole continuation, where there is one."""
    return prediction.text if prediction.text.startswith(prediction.source) else prediction.source


def _losses(model: nn.Module, task: Task, split: Split, numbers: Sequence[int]) -> list[float | None]:
    """Return the loss of each example, computed in a batch of one."""
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
