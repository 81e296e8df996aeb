"""The summary of a run that ended is kept with what it belongs to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.recipes.load import load
from regard.runs.folder import save_summary, saved_summary

RECIPE = load("dates", model=False).recipe


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "split": "test"}\n')
    (tmp_path / "model.safetensors").write_bytes(b"")
    save_summary(tmp_path, RECIPE, "all of it")
    return tmp_path


def test_it_is_said_again(folder: Path) -> None:
    assert saved_summary(folder, RECIPE) == "all of it"
    assert saved_summary(folder / "other", RECIPE) is None


@pytest.mark.parametrize("key", ["train.steps=9999", "decode.beam_size=3", "evaluate.metrics=[cer]", "train.seed=2"])
def test_another_recipe_is_measured(folder: Path, key: str) -> None:
    assert saved_summary(folder, load("dates", [key], model=False).recipe) is None


def test_a_run_that_went_on_is_measured(folder: Path) -> None:
    with (folder / "metrics.jsonl").open("a") as log:
        log.write('{"step": 2, "split": "train"}\n')
    assert saved_summary(folder, RECIPE) is None


def test_a_run_without_a_model_is_trained(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert saved_summary(folder, RECIPE) is None


@pytest.mark.parametrize("damage", ["", "[]", "3", '{"recipe": 1}', None])
def test_a_damaged_one_is_measured(folder: Path, damage: str | None) -> None:
    path = folder / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "summary": 3}) if damage is None else damage)
    assert saved_summary(folder, RECIPE) is None
