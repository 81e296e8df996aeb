"""Captions from end to end: training, answers, measurements, drawings, and the user's own pictures."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import regard
from regard.data.batching.augmented import AugmentedFeed
from regard.data.batching.feed import BatchPosition, ExampleFeed
from regard.data.problems import DataError
from regard.recipes.load import load
from regard.systems.captions.field import PictureKind
from regard.systems.captions.pictures import Flickr8k, Pictures
from regard.systems.captions.scenes import Scenes
from regard.tasks.setup import prepare
from tests.cli.command import asked, refused

TINY = (
    *("data.train_size=96", "data.valid_size=16", "data.test_size=16", "data.noise=0", "train.steps=6"),
    *("train.batch.sentences=16", "train.valid_every=3", "train.checkpoint_every=3", "train.log_every=1"),
    *("model.embedding_dim=8", "model.hidden_dim=12", "model.attention_dim=8", "model.convolutions.width=4"),
    "decode.max_length=6",  # of models that have learned nothing: each word is a picture in the report
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
    assert [other.text for other in regard.load("runs/scenes").predict(array)] == [one.text]
    answer = json.loads(asked("predict", "runs/scenes", str(path), "--json", "--alignment"))
    assert np.shape(answer["alignment"]) == (len(answer["tokens"]), 16)
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


@pytest.mark.parametrize("key", ["model.attention=none", "model.attention=hard", "train.augment={crop: 0.7}"])
def test_a_stopped_run_resumes_to_the_same_numbers(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ("train", "scenes", *TINY, key, "data.test_size=4", "data.valid_size=4")
    asked(*options, "run=whole")
    asked(*options, "run=parts", "train.steps=3")
    asked(*options, "run=parts", "train.steps=6")
    assert [row for row in rows("parts") if row["step"] == 6][-1]["loss"] == rows("whole")[-1]["loss"]


def test_pictures_change_in_training_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    keys = [*TINY, "train.augment={brightness: 0.5, contrast: 0.5}"]
    recipe = load("scenes", keys).recipe
    made = prepare(recipe, tmp_path)
    assert isinstance(made.feed, AugmentedFeed)
    place = BatchPosition(0, 0)
    plain, changed = (feed.batch(place)["picture"] for feed in (made.feed.unwrapped, made.feed))
    assert changed.shape == plain.shape
    assert not torch.equal(changed, plain)
    assert torch.equal(changed, made.feed.batch(place)["picture"])
    assert isinstance(made.task.measuring_feed(recipe, made.valid, carries=False), ExampleFeed)


def test_readers_name_the_line_and_the_captions_of_a_picture(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("1.png\ta dog\n1.png\ta brown dog\n2.png no tab\n")
    items = list(Pictures(tmp_path / "a.tsv").read())
    assert items[0].fields["picture"] == items[1].fields["picture"]
    assert items[0].fields["picture"].name == str(tmp_path / "1.png")
    assert items[2].where.endswith("a.tsv:3")
    assert "tab" in items[2].why
    (tmp_path / "a.jsonl").write_text('{"picture": "1.png", "caption": ["a", "b"]}\n{"picture": 7}\nnot json\n')
    first, second, *bad = Pictures(tmp_path / "a.jsonl", Path("all.zip")).read()
    assert first.fields["picture"].name == second.fields["picture"].name == "all.zip:1.png"
    assert [one.line for one in bad] == [2, 3]


def test_flickr8k_reads_names_captions_and_the_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.write(save(tmp_path / "a.png"), "a.png")
    (tmp_path / "captions.json.gz").write_bytes(gzip.compress(json.dumps({"a.png": ["one", "two"]}).encode()))
    (tmp_path / "train.txt").write_text("a.png\nb.png\n")
    found = list(Flickr8k(tmp_path / "train.txt", tmp_path / "captions.json.gz", tmp_path / "images.zip").read())
    assert [one.fields["caption"] for one in found[:2]] == ["one", "two"]
    assert "b.png" in found[2].why
    picture = PictureKind((3, 32, 32), "crop").read(found[0].fields["picture"].source)
    assert picture.pixels.shape == (3, 32, 32)


@pytest.mark.parametrize("shape", [(5, 7), (7, 2, 3)])
def test_feature_maps_of_ones_own_are_learned_from(
    shape: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng, lines = np.random.default_rng(1), []
    for number in range(12):
        size = (shape[0] - number % 2, 7) if len(shape) == 2 else shape  # some have a region less
        np.save(tmp_path / f"{number}.npy", rng.normal(size=size).astype(np.float32))
        lines.append(f"{number}.npy\t{'red' if number % 3 else 'blue'} thing\n")
    (tmp_path / "all.tsv").write_text("".join(lines))
    (tmp_path / "mine.yaml").write_text(
        "task: caption\ndata: {format: pictures, train: all.tsv, valid: all.tsv, features: true}\n"
        "tokenizer: {kind: words}\nmodel: {kind: captioner, embedding_dim: 5, hidden_dim: 6}\n"
        "train: {steps: 3, batch: {sentences: 4}, doubly_stochastic: 1.0}\ndecode: {max_length: 5}\n"
    )
    assert "train.augment" in refused("train", "mine.yaml", "train.augment={flip: true}")
    asked("train", "mine.yaml")
    assert regard.load("runs/run").predict("3.npy")[0].alignment.shape[1] == (4 if len(shape) == 2 else 6)
    np.save(tmp_path / "wide.npy", np.zeros((5, 8), np.float32))
    assert "wide.npy" in refused("predict", "runs/run", "wide.npy")


def test_a_bad_picture_in_the_data_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "1.png")
    (tmp_path / "2.png").write_text("no picture")
    (tmp_path / "all.tsv").write_text("1.png\ta dog\n2.png\ta cat\n")
    data = ("data={format: pictures, train: all.tsv, valid: all.tsv, height: 32, width: 32}", "train.steps=1")
    said = refused("train", "scenes", *data)
    assert "all.tsv:2" in said
    assert "2.png" in said


def test_training_notes_pictures_that_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (1, 1)).save(tmp_path / "dot.png")
    Image.new("CMYK", (9, 7)).save(tmp_path / "print.jpg")
    (tmp_path / "all.tsv").write_text("dot.png\ta dog\ndot.png\ta cat\nprint.jpg\ta cow\n")
    data = ("data={format: pictures, train: all.tsv, valid: all.tsv, height: 32, width: 32}", "train.steps=1")
    for _ in range(2):  # read, then from the cache
        shown = " ".join(asked("train", "scenes", *data, "--dry-run").split())
        assert "train: 2 notes on files" in shown
        assert "dot.png" in shown
        assert "CMYK" in shown


def test_a_form_of_pictures_is_kept(tmp_path: Path) -> None:
    kind = PictureKind((3, 32, 32), "crop", ((-1.0, 0.25), (-0.5, 1.0)))
    kind.save(tmp_path / "pictures.json")
    assert PictureKind.load(tmp_path / "pictures.json").calibration == kind.calibration
    (tmp_path / "pictures.json").write_text("{}")
    with pytest.raises(DataError, match=r"pictures\.json"):
        PictureKind.load(tmp_path / "pictures.json")


def test_answers_say_how_sure_they_are_and_hedge(folder: Path) -> None:
    path = str(save(folder / "sure.png"))
    plain = json.loads(asked("predict", "runs/scenes", path, "--json"))
    assert 0 <= plain["confidence"] <= 1
    assert "calibration_error" in rows("scenes")[-1]
    assert asked("predict", "runs/scenes", path, "--confidence") == f"{plain['confidence']:.2f}\t{plain['text']}\n"
    hedged = asked("predict", "runs/scenes", path, "--decode", "hedge=1.0")
    assert hedged == f"I am not really confident, but {plain['text']}\n"
    measured = json.loads(asked("evaluate", "runs/scenes", "--split", "test", "--json", "--decode", "hedge=1.0"))
    assert measured["exact_match"] == rows("scenes")[-1]["exact_match"]
