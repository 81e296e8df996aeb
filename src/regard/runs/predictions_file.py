"""Predictions file: the prediction for each example of a split, one JSON object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from regard.data.example import line_number
from regard.recipes.sections import Recipe
from regard.runs.files import atomic_path
from regard.tasks.measurement import Measurement, inputs_and_references
from regard.tasks.splits import Split
from regard.tasks.task import Task


def write_predictions(path: Path, task: Task, split: Split, recipe: Recipe, measured: Measurement) -> None:
    """Write a row per example: number, origin and line, source, target, prediction, score, and correctness.

    Raises:
        DiskError: the file cannot be written.
        ValueError: the task has no references.
    """
    rows = list(_rows(task, split, recipe, measured))
    with atomic_path(path) as draft:
        draft.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def check_answers(task: Task) -> None:
    """Check that a task has references to compare predictions with.

    Raises:
        ValueError: it has none.
    """
    if task.answer is None:
        raise ValueError("--predictions writes answers beside the right ones; a language model has none")


def _rows(task: Task, split: Split, recipe: Recipe, measured: Measurement) -> Iterator[dict[str, Any]]:
    check_answers(task)
    questions, references = inputs_and_references(task, split, recipe)
    places: dict[int | str, str] = {}
    merges = task.merges_equal_inputs(recipe)
    for number, example in enumerate(split.examples):  # of an input that is asked once for several, the first
        places.setdefault(task.ask(example.fields) if merges else number, example.where)
    for number, (where, source, right, answer) in enumerate(
        zip(places.values(), questions, references, measured.predictions, strict=True)
    ):
        yield {
            "id": number,
            "where": where,
            "line": line_number(where) if split.examples.files else None,
            "source": source if isinstance(source, str) else answer.source,
            "target": right[0] if len(right) == 1 else right,
            "prediction": answer.text,
            "score": answer.score,
            "correct": task.right(answer.text, right),
        }
