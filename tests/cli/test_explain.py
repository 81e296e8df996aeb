"""`regard explain`: a study of a trained classifier, and models that it does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.predictor import load
from tests.cli.command import asked, refused

FEW = ("data.words=5", "data.valid_size=20", "data.test_size=12", "train.valid_every=20", "train.steps=20")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    asked("train", "sentence_opinions", "--runs", folder, *FEW, "train.optimizer.rate=0.02")
    return folder / "sentence_opinions"


def test_a_report_of_a_run(run: Path, tmp_path: Path) -> None:
    said = asked("explain", run, "--limit", "7", "--steps", "3", "--output", tmp_path / "why")
    assert said.endswith(f"{tmp_path / 'why'}\n")
    numbers = json.loads((tmp_path / "why" / "explain.json").read_text(encoding="utf-8"))
    assert numbers["answers"] == 7
    assert {row["first"] for row in numbers["agreement"]} >= {"attention", "integrated gradients"}
    assert "leave-one-out" in (tmp_path / "why" / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "why" / "examples.png").read_bytes().startswith(b"\x89PNG")


def test_a_file_of_texts(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("the film was very nopi\nthe walk was so pazo\npazo\n", encoding="utf-8")
    said = asked("explain", run, "--file", file, "--steps", "2", "--json", "--output", tmp_path / "why")
    assert json.loads(said)["answers"] == 2  # one word has no ranking
    assert "column" in refused("explain", run, "--file", file, "--format", "table", "--source", "text")


def test_controls_are_trained_beside_it(run: Path, tmp_path: Path) -> None:
    options = ("--split", "valid", "--limit", "9", "--steps", "2", "--controls", "--output", tmp_path / "why")
    numbers = json.loads(asked("explain", run, *options, "--json"))["controls"]
    accuracies = {name: float(value) for name, value in numbers.items() if name.startswith("accuracy")}
    assert len(accuracies) == 6
    assert all(0 <= value <= 1 for value in accuracies.values())
    assert "## Controls" in (tmp_path / "why" / "report.md").read_text(encoding="utf-8")
    assert "--controls" in refused("explain", run, "--file", tmp_path / "why" / "report.md", "--controls")


def test_what_cannot_be_explained(run: Path, tmp_path: Path) -> None:
    asked(
        "train",
        "sentence_opinions",
        "--runs",
        tmp_path,
        *FEW,
        "model.pooling=mean",
        "model.num_hops=1",
        "train.steps=2",
    )
    assert "model.pooling=attention" in refused("explain", tmp_path / "sentence_opinions")
    assert "nothing.txt" in refused("explain", run, "--file", "nothing.txt")


def test_the_model_as_a_subject_answers_as_the_model_does(run: Path) -> None:
    loaded = load(run)
    subject = loaded.task.subject(loaded.model)
    texts = subject.read(["the film was very nopi", "so pazo"])
    best = [answer.text for answer in loaded.predict(["the film was very nopi", "so pazo"])]
    assert [subject.names[index] for index in subject.probabilities(texts).argmax(1).tolist()] == best
