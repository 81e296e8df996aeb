"""Captions from end to end: training, answers, measurements, drawings, and the user's own pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from regard.systems.captions.scenes import Scenes
from tests.cli.command import asked, refused

TINY = (
    *("data.train_size=96", "data.valid_size=16", "data.test_size=16", "data.noise=0", "train.steps=6"),
    *("train.batch.sentences=16", "train.valid_every=3", "train.checkpoint_every=3", "train.log_every=1"),
    *("model.embedding_dim=8", "model.hidden_dim=12", "model.attention_dim=8", "model.convolutions.width=4"),
)


def rows(run: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in Path("runs", run, "metrics.jsonl").read_text().splitlines()]


def save(path: Path, index: int = 0) -> Path:
    """A test scene as a file."""
    pixels = Scenes("test", size=99)[index].fields["picture"].source
    Image.fromarray(pixels.transpose(1, 2, 0)).save(path)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        asked("train", "scenes", *TINY)
    return folder


@pytest.fixture
def folder(trained: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(trained)
    return trained


def test_it_is_measured_with_all_captions_of_a_picture(folder: Path) -> None:
    measured = json.loads(asked("evaluate", "runs/scenes", "--split", "test", "--json", "--predictions", "p.jsonl"))
    assert measured["loss"] == rows("scenes")[-1]["loss"]
    answers = [json.loads(line) for line in (folder / "p.jsonl").read_text().splitlines()]
    assert len(answers) == 4
    assert all(len(one["target"]) == 4 for one in answers)
    assert answers[0]["source"] == "scenes.test:0"


def test_a_picture_of_ones_own_is_answered(folder: Path) -> None:
    path = save(folder / "mine.png")
    (one,) = regard.load("runs/scenes").predict(path)
    assert asked("predict", "runs/scenes", str(path)) == f"{one.text}\n"
    array = Scenes("test", size=9)[0].fields["picture"].source
    given = [path.read_bytes(), {"picture": str(path)}, array]
    assert [other.text for other in regard.load("runs/scenes").predict(given)] == [one.text] * 3
    answer = json.loads(asked("predict", "runs/scenes", str(path), "--json", "--alignment"))
    assert np.shape(answer["alignment"]) == (len(answer["tokens"]), 16 if len(answer["source_tokens"]) == 16 else 64)
    asked("view", "runs/scenes", str(path), "--output", "view.png")
    assert (folder / "view.png").stat().st_size > 5000


def test_bad_pictures_are_one_sentence(folder: Path) -> None:
    (folder / "empty.jpg").write_bytes(b"")
    (folder / "text.jpg").write_text("no picture")
    assert "empty.jpg" in refused("predict", "runs/scenes", "empty.jpg")
    assert "text.jpg" in refused("predict", "runs/scenes", "text.jpg")
    assert "nowhere.png" in refused("predict", "runs/scenes", "nowhere.png")
    with pytest.raises(ValueError, match="int"):
        regard.load("runs/scenes").predict(7)


def test_a_picture_of_another_kind_is_read_with_a_note(folder: Path) -> None:
    Image.new("CMYK", (40, 50)).save(folder / "cmyk.jpg")
    predictor = regard.load("runs/scenes")
    (note,) = predictor.task.input_warnings(predictor.model, ["cmyk.jpg"])
    assert "CMYK" in note
    assert predictor.predict("cmyk.jpg")[0].source == "cmyk.jpg"


@pytest.mark.parametrize("attention", ["none", "hard", "marginal"])
def test_a_stopped_run_resumes_to_the_same_numbers(
    attention: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("train", "scenes", *TINY, f"model.attention={attention}", "data.test_size=4", "data.valid_size=4")
    asked(*options, "run=whole")
    asked(*options, "run=parts", "train.steps=3")
    asked(*options, "run=parts", "train.steps=6")
    assert [row for row in rows("parts") if row["step"] == 6][-1]["loss"] == rows("whole")[-1]["loss"]
