"""The call path of an answer: functions of the package that a call runs, without module and class bodies."""

from __future__ import annotations

from pathlib import Path

from benchmarks.call_path import file_of, files, reached

import regard
from regard.nearest import nearest
from tests.train.tiny import train


def test_functions_that_a_call_runs_are_counted_once() -> None:
    found = reached(lambda: [nearest("dtaes", ["dates", "tales"]) for _ in range(2)])
    assert {code.co_qualname for code in found} == {"nearest", "nearest.<locals>.likeness"}
    assert files(found) == {"nearest.py": 2}
    assert reached(lambda: sorted([3, 2])) == set()


def test_an_answer_passes_through_predictor_task_and_model(tmp_path: Path) -> None:
    train(tmp_path, "train.steps=1")
    predictor = regard.load(tmp_path, device="cpu")
    found = reached(lambda: predictor.predict("1 2 3"))
    assert {"predictor.py", "systems/translation/task.py", "models/bahdanau.py"} <= set(map(file_of, found))
    assert not any(file_of(code).startswith("train/") for code in found)
