"""The whole system from the command line, on digits that are drawn and on pictures in files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import regard
from regard.recipes.load import load
from regard.runs.run import Run
from regard.systems.glimpses.drawn_digits import DrawnDigits
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.cli.command import asked, refused
from tests.train.test_resuming import Interrupting
from tests.train.tiny import on_cpu

FAST = (
    "data.train_size=320", "data.valid_size=50", "data.test_size=100", "data.noise=0", "model.glimpses=3",
    "model.hidden_dim=64", "model.glimpse_dim=32", "train.steps=100", "train.valid_every=50",
    "train.checkpoint_every=50",
    "train.batch.sentences=32", "train.optimizer.rate=0.003", "model.scales=3",
)  # fmt: skip


def rows(run: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in Path("runs", run, "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and a picture of the test split in two inks."""
    place = tmp_path_factory.mktemp("glimpses")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        asked("train", "glimpses", "run=small", *FAST)
    pixels = DrawnDigits("test", size=1, noise=0)[0].fields["picture"][0]
    Image.fromarray(pixels).save(place / "light.png")
    Image.fromarray(255 - pixels).convert("CMYK").save(place / "dark.jpg", quality=95)
    np.save(place / "light.npy", pixels)
    return place


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_it_learns_more_than_the_most_frequent_digit(here: Path) -> None:
    labels = Counter(example.fields["labels"][0] for example in DrawnDigits("test", size=100))
    (_, frequent), *_ = labels.most_common(1)
    assert rows("small")[-1]["accuracy"] > 1.5 * frequent / 100
    assert "| accuracy |" in (here / "runs" / "small" / "report.md").read_text()
    measured = json.loads(asked("evaluate", "runs/small", "--split", "test", "--json"))
    assert measured["loss"] == rows("small")[-1]["loss"]


def test_a_picture_gets_the_same_label_however_it_is_given(here: Path) -> None:
    model = regard.load("runs/small")
    picture = here / "light.png"
    given = (picture, picture.read_bytes(), {"picture": picture}, "light.npy", np.load("light.npy"), "dark.jpg")
    (first, *others) = model.predict(list(given))
    assert {one.text for one in others} == {first.text}
    assert len(first.source_tokens) == 3
    assert first.source_tokens[0] == "(+0.00, +0.00)"
    assert asked("predict", "runs/small", "light.png") == f"{first.text}\n"
    inverted = asked("predict", "runs/small", "dark.jpg")
    assert "inverted" in inverted
    assert "CMYK" in inverted
    answer = json.loads(asked("predict", "runs/small", "light.png", "--json", "--alignment"))
    assert len(answer["source_tokens"]) == 3
    assert len(answer["scores"]) == 10
    assert "glimpse 3 at (" in asked("predict", "runs/small", "light.png", "--alignment")
    (here / "names.txt").write_text("light.png\nlight.npy\n")
    assert asked("predict", "runs/small", "--file", "names.txt") == f"{first.text}\n" * 2


def test_a_file_that_is_no_picture_is_one_sentence(here: Path) -> None:
    (here / "cut.png").write_bytes((here / "light.png").read_bytes()[:60])
    assert "cut.png" in refused("predict", "runs/small", "cut.png")
    assert "nowhere.png" in refused("predict", "runs/small", "nowhere.png")
    assert "no calibrated confidence" in refused("predict", "runs/small", "light.png", "--confidence")


def test_the_path_is_drawn_over_the_picture(here: Path) -> None:
    asked("view", "runs/small", "light.png", "--output", "path.png")
    assert (here / "path.png").stat().st_size > 3000
    asked("view", "runs/small", "light.png", "--output", "path.html")
    assert '"kind":"glimpses"' in (here / "path.html").read_text()
    assert ".png" in refused("view", "runs/small", "light.png", "--output", "path.gif")


def test_a_run_that_was_interrupted_ends_as_the_one_that_was_not(here: Path) -> None:
    small = (*FAST[:6], "train.steps=12", "train.valid_every=6", "train.checkpoint_every=4", "model.samples=2")
    with on_cpu():
        recipe = load("glimpses", list(small)).recipe
        Trainer(recipe, Run(here / "whole"), screen=Screen(quiet=True)).fit()
        first = Trainer(recipe, Run(here / "parts"), screen=Interrupting(9)).fit()
        Trainer(recipe, Run(here / "parts"), screen=Screen(quiet=True)).fit()
    assert first.reason == "interrupted"
    assert (here / "parts" / "metrics.jsonl").read_text() == (here / "whole" / "metrics.jsonl").read_text()


def test_compare_shows_glimpses_beside_whole_pictures(here: Path) -> None:
    shown = asked(
        "compare", "glimpses", "--name", "models", "model={kind: glimpse_network, glimpses: 2},{kind: fully_connected}",
        "data.train_size=32", "data.valid_size=8", "data.test_size=8", "train.steps=4", "train.valid_every=4",
        "train.checkpoint_every=4",
    )  # fmt: skip
    assert "fully_connected" in shown
    assert "accuracy" in shown


def test_pictures_in_files_with_sequences_of_labels(here: Path) -> None:
    for split, size in (("train", 40), ("valid", 8)):
        lines = []
        for number, example in enumerate(DrawnDigits(split, size=size, setting="pairs", side=60)):  # type: ignore[arg-type]
            Image.fromarray(example.fields["picture"][0]).save(f"{split}{number}.png")
            lines.append(f"{split}{number}.png\t{' '.join(example.fields['labels'][: 1 + number % 2])}\n")
        (here / f"{split}.tsv").write_text("".join(lines))
    (here / "mine.yaml").write_text(
        "run: mine\ntask: glimpse\n"
        "data:\n  {format: pictures, train: train.tsv, valid: valid.tsv, test: valid.tsv, "
        "height: 40, width: 50, objects: 2}\n"
        "model: {kind: glimpse_network, glimpses: 2, hidden_dim: 16, location_layer: true, context: 6, cell: lstm}\n"
        "train: {steps: 6, batch: {sentences: 8}, valid_every: 3, checkpoint_every: 3, optimizer: {rate: 0.01}}\n"
    )
    assert "[8, 1, 40, 50]" in asked("train", "mine.yaml", "--dry-run")
    asked("train", "mine.yaml")
    assert {"exact_match", "wer"} <= rows("mine")[-1].keys()
    answers = asked("predict", "runs/mine", "valid0.png", "--n-best", "3").splitlines()
    assert len(answers) == 3
    assert all(1 <= len(one.partition("\t")[2].split()) <= 2 for one in answers)
    (here / "bad.tsv").write_text("valid0.png\t1\nvalid1.png\t1 2 3\n")
    assert "bad.tsv:2" in refused("train", "mine.yaml", "run=bad", "data.train=bad.tsv")
    assert "did you mean context?" in refused("train", "mine.yaml", "run=typo", "model.contxt=3")
