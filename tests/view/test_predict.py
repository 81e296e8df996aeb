"""What `regard predict` draws."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from typer.testing import CliRunner

import regard.predictor
from regard.cli import app
from regard.data import Labels, Tokenizer
from regard.systems.classification.task import Classification
from regard.systems.tagging.task import Tagging
from regard.systems.translation.task import Translation
from regard.tasks.prediction import Prediction
from regard.tasks.task import Task

WEIGHTS = torch.tensor([[0.1, 0.9]])
TAGGED = Prediction("every dog", "DT NN", -0.1, ("every", "dog"), ("DT", "NN"), (-0.05, -0.05))
LABELLED = Prediction("a gem", "good", -0.1, ("a", "gem"), ("good",), (-0.1,), WEIGHTS)
WORDS = Tokenizer.train(["a gem every dog"], kind="words")
CLASSIFICATION = Classification({"text": WORDS, "label": Labels(("bad", "good"))})
TRANSLATION = Translation({"source": WORDS, "target": WORDS})
NOTHING = Prediction("", "", 0.0, (), (), ())


@pytest.mark.parametrize(
    ("task", "answer", "arguments", "printed"),
    [
        (Tagging({}), TAGGED, (), "DT NN\n\n"),
        (Tagging({}), TAGGED, ("--alignment",), "DT NN\nevery dog\nDT    NN\n\n\n"),
        (CLASSIFICATION, LABELLED, (), "good\n\n"),
        (CLASSIFICATION, LABELLED, ("--alignment",), "good\n       g\n       e\n     a m\ngood   █\n\n\n"),
        (TRANSLATION, TAGGED, ("--alignment",), "DT NN\n(the model attends to nothing that could be drawn)\n\n\n"),
    ],
)
def test_a_line_and_a_drawing_if_it_is_asked_for(
    task: Task,
    answer: Prediction,
    arguments: tuple[str, ...],
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [[answer], [NOTHING]]
    recipe, model = SimpleNamespace(), torch.nn.Identity()
    predictor = SimpleNamespace(recipe=recipe, model=model, task=task, n_best=lambda texts, n, only: answers)
    monkeypatch.setattr(regard.predictor, "load", lambda *_, **__: predictor)
    for name in ("recipe.yaml", "model.safetensors"):
        (tmp_path / name).touch()
    done = CliRunner().invoke(app, ["predict", str(tmp_path), answer.source, "", *arguments])
    assert (done.exit_code, done.output) == (0, printed)
