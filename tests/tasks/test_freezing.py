"""Parameters that a recipe keeps from training."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.models import build
from regard.tasks.freezing import freeze
from tests.cli.command import asked, refused

TINY = ("data.train_size=64", "data.valid_size=8", "data.test_size=8", "train.steps=4", "train.valid_every=2")


def test_frozen_parts_keep_their_values_and_others_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked("train", "dates", *TINY, "run=one", "train.freeze=[encoder, attention.score.weight]", "train.steps=1")
    asked("train", "dates", *TINY, "run=four", "train.freeze=[encoder, attention.score.weight]")
    one, four = (regard.load(f"runs/{run}").model.state_dict() for run in ("one", "four"))
    same = {name for name in one if torch.equal(one[name], four[name])}
    frozen = {name for name in one if name.startswith("encoder.") or name == "attention.score.weight"}
    assert frozen
    assert same == frozen


@pytest.mark.parametrize(
    ("name", "hint"), [("encodr", "encoder"), ("zzz", "attention"), ("words.tabel", "words.table")]
)
def test_a_name_of_nothing_is_refused_with_the_nearest(
    name: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refused("train", "dates", *TINY, f"train.freeze=[{name}]")
    assert "train.freeze" in said
    assert hint in said


def test_something_must_be_left_to_train() -> None:
    model = build("acceptor", 10, 3, encoder={"kind": "rnn", "hidden_dim": 4})
    names = [name for name, _ in model.named_children() if any(True for _ in model.get_submodule(name).parameters())]
    freeze(model, names[:-1])
    with pytest.raises(ValueError, match=r"train\.freeze"):
        freeze(model, names)
