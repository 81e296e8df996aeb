"""Data and encoders that changed under a run stop it, unless it is told to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import Corpus
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.cli.command import asked, refused
from tests.train.tiny import metrics, recipe, train

PAIRS = "".join(f"{number} {number + 1}\t{number} {number + 1}\n" for number in range(60))


@pytest.fixture
def data(tmp_path: Path) -> str:
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text(PAIRS)
    files = ", ".join(f"{name}: {tmp_path / name}.tsv" for name in ("train", "valid", "test"))
    return f"data={{format: table, {files}, source: 0, target: 1}}"


@pytest.mark.parametrize("name", ["train", "valid", "test"])
def test_a_file_that_changed_is_named(name: str, data: str, tmp_path: Path) -> None:
    train(tmp_path / "run", data, "train.steps=5")
    path = tmp_path / f"{name}.tsv"
    path.write_text(PAIRS.replace("3 4\t3 4", "3 4\t4 3", 1))
    with pytest.raises(RunError, match=rf"until step 5: {path} \({name}\) changed; .*--changed-data"):
        train(tmp_path / "run", data, "train.steps=10")
    path.write_text(PAIRS)
    train(tmp_path / "run", data, "train.steps=10")
    train(tmp_path / "whole", data, "train.steps=10")
    assert metrics(tmp_path / "run").splitlines()[-2:] == metrics(tmp_path / "whole").splitlines()[-2:]


def test_a_run_goes_on_with_changed_data_when_it_is_told_to(data: str, tmp_path: Path) -> None:
    overrides = [data, "train.steps=5", "train.batch.sentences=2"]
    train(tmp_path / "run", *overrides)
    (tmp_path / "train.tsv").write_text(PAIRS[: len(PAIRS) // 6])  # fewer batches than the position in them
    arguments = ["train", Run(tmp_path / "run").folder / "recipe.yaml", "--runs", tmp_path, "run=run", "train.steps=10"]
    assert f"{tmp_path / 'train.tsv'} (train) changed" in refused(*arguments)
    assert "with data that changed" in asked(*arguments, "--changed-data")
    assert "with data that changed" not in asked(*arguments[:-1], "train.steps=12")


def test_a_moved_file_is_the_same_data(data: str, tmp_path: Path) -> None:
    train(tmp_path / "run", data, "train.steps=5")
    kept = (tmp_path / "train.tsv").read_bytes()
    (tmp_path / "train.tsv").unlink()
    (tmp_path / "train.tsv").write_bytes(kept)
    assert train(tmp_path / "run", data, "train.steps=6").progress.step == 6


def test_generated_data_that_changed_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path / "run", "train.steps=2")
    trainer = Trainer(recipe("train.steps=4"), Run(tmp_path / "run"), screen=Screen(quiet=True))
    monkeypatch.setattr(Corpus, "sums", lambda _: {"source.ids": "0"})
    with pytest.raises(RunError, match="the split train, the split valid, the split test changed"):
        trainer.fit()


def test_another_tokenizer_is_named(tmp_path: Path) -> None:
    train(tmp_path / "run", "train.steps=2")
    train(tmp_path / "other", "tokenizer.size=6", "train.steps=2")
    (tmp_path / "run/tokenizer.source.json").write_bytes((tmp_path / "other/tokenizer.source.json").read_bytes())
    (tmp_path / "run" / "checksums.json").unlink()
    with pytest.raises(RunError, match=r"run: .*of source are not those .*of step 2"):
        train(tmp_path / "run", "train.steps=4")
