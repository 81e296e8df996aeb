"""Answers beside the right ones, in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.data import Labels, Numbers, Tokenizer
from regard.data.example import Example
from regard.runs.predictions_file import check_answers, write_predictions
from regard.systems.classification.targets.number import NumberTarget
from regard.systems.classification.task import Classification
from regard.systems.spans.task import SpanAnswering
from regard.systems.translation.sections import TranslationEvaluation
from regard.systems.translation.task import Translation
from regard.tasks.prediction import Prediction

WORDS = Tokenizer.train(["a b c"], kind="words")


class Made:
    """Examples of a file, or of none."""

    def __init__(self, *examples: Example, files: tuple[Path, ...] = (Path("f"),)) -> None:
        self.examples, self.files = examples, files

    def __iter__(self) -> Iterator[Example]:
        return iter(self.examples)


def rows(path: Path, task: Any, made: Made, *answers: str, group: bool = False) -> list[dict[str, Any]]:
    found = tuple(Prediction("", text, -0.5, (), (), ()) for text in answers)
    recipe: Any = SimpleNamespace(evaluate=TranslationEvaluation(group=group))
    split: Any = SimpleNamespace(examples=made)
    write_predictions(path, task, split, recipe, SimpleNamespace(predictions=found))  # type: ignore[arg-type]
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_question_that_is_asked_once_has_its_first_line(tmp_path: Path) -> None:
    task = Translation({"source": WORDS, "target": WORDS})
    made = Made(
        *(
            Example({"source": one, "target": two}, f"f:{at}")
            for at, one, two in ((1, "a", "x y"), (2, "b", "z"), (3, "a", "w"))
        )
    )
    found = rows(tmp_path / "a.jsonl", task, made, "x  y", "q", group=True)
    assert [(row["line"], row["target"], row["correct"]) for row in found] == [(1, ["x y", "w"], True), (2, "z", False)]
    alone = rows(tmp_path / "a.jsonl", task, made, "w", "z", "w")
    assert [(row["line"], row["correct"]) for row in alone] == [(1, False), (2, True), (3, True)]


def test_what_is_made_has_no_lines(tmp_path: Path) -> None:
    made = Made(Example({"source": "a", "target": "b"}, "digits.test:7"), files=())
    (row,) = rows(tmp_path / "a.jsonl", Translation({"source": WORDS, "target": WORDS}), made, "b")
    assert (row["id"], row["where"], row["line"]) == (0, "digits.test:7", None)


def test_right_is_as_the_task_counts() -> None:
    spans = SpanAnswering({"question": WORDS, "context": WORDS})
    assert spans.right("the Rhine", ["Basel", "Rhine."])
    assert not spans.right("Basel", ["Rhine"])
    assert not Classification({"text": WORDS, "label": Labels(("a", "b"))}).right("a", ["b"])
    assert (
        Classification({"text": WORDS, "label": Numbers(3.0, 1.0)}, target_of=NumberTarget).right("3.1", ["3"]) is None
    )


def test_a_text_that_goes_on_has_no_right_answer() -> None:
    with pytest.raises(ValueError, match="a language model has none"):
        check_answers(SimpleNamespace(answer=None))  # type: ignore[arg-type]
