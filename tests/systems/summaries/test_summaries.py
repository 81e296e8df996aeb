"""Summaries from recipe to subject line: bodies as texts, files, bytes and mappings; several references."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import regard
from regard.recipes.load import load
from tests.cli.command import asked

BODY = "hi ,\nthe harbour visit is moved to friday .\nthanks ,\nA. Nobody\n> old news"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summaries")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small = ("data.train_size=200", "data.valid_size=20", "data.test_size=20", "model.hidden_dim=16")
        asked("train", "notices", *small, "train.steps=20", "train.valid_every=20", "train.log_every=10")
    return folder / "runs" / "notices"


def test_every_form_of_a_body_has_the_same_subject(run: Path, tmp_path: Path) -> None:
    (tmp_path / "mail.txt").write_text(BODY)
    answers = regard.load(run).predict([BODY, {"body": BODY}, tmp_path / "mail.txt", BODY.encode()])
    assert {one.source for one in answers} == {"hi , the harbour visit is moved to friday ."}
    assert len({one.text for one in answers}) == 1
    assert asked("predict", run, BODY) == f"{answers[0].text}\n"
    (tmp_path / "mail.jsonl").write_text(json.dumps({"body": BODY}) + "\n")
    said = asked("predict", run, "--file", tmp_path / "mail.jsonl", "--format", "mail", "--json")
    assert json.loads(said)["source"] == answers[0].source
    asked("view", run, BODY, "--output", tmp_path / "view.png")
    assert (tmp_path / "view.png").stat().st_size > 1000


def test_a_body_of_quotes_alone_is_noted(run: Path) -> None:
    said = " ".join(asked("predict", run, "> who comes ?").split())
    assert "'> who comes ?'" in said
    assert "data.clean" in said
    assert "quotes" not in asked("predict", run, "who comes ?")


def test_subjects_of_other_people_are_references(run: Path, tmp_path: Path) -> None:
    rows = [
        {"body": BODY, "subject": "x", "ann": "y"},
        {"body": BODY, "subject": "y"},
        {"body": BODY, "subject": "x"},
    ]
    (tmp_path / "mail.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    section = f"data={{format: mail, train: {tmp_path}/mail.jsonl, valid: {tmp_path}/mail.jsonl, others: [ann]}}"
    model = regard.load(run)
    task, reading = model.task, type(model.task).reading(model.recipe)
    examples = load("notices", [section], model=False).recipe.data.examples("valid", reading)
    assert [task.references(one.fields) for one in examples or ()] == [["x", "y"], ["y"], ["x"]]


def test_words_that_training_never_had_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is certain to copy its source word by word says the word as it was written."""
    monkeypatch.chdir(tmp_path)
    small = ("data.train_size=200", "data.valid_size=20", "data.test_size=20", "model.hidden_dim=16")
    copying = ("model.copy=true", "model.coverage=0.5", "decode.max_length=4")
    asked("train", "notices", *small, *copying, "train.steps=2", "train.valid_every=2", "train.log_every=1")
    model = regard.load("runs/notices")
    with torch.no_grad():
        model.model.gate.bias.fill_(-1e4)
    (answer,) = model.predict(["Zyx Zyx Zyx"])
    assert set(answer.text.split()) == {"Zyx"}
    assert model.task.input_warnings(model.model, ["Zyx"]) == []
