"""The training benchmark, small: its gate can fail, systems that are not here are left out, and it ends in a table."""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import training

os.environ["ACCELERATE_USE_CPU"] = "true"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, _on_device: None) -> None:
    torch.set_default_device("cpu")
    sizes = {"PAIRS": 60, "WORDS": 50, "DIM": 8, "HEADS": 2, "HIDDEN": 12, "LAYERS": 1, "EMBEDDING": 6, "STATE": 10}
    for name, size in {**sizes, "TOKENS": 200}.items():
        monkeypatch.setattr(training, name, size)


def absent(kind: str, pairs: list[training.Pair], precision: str) -> training.System:
    raise ImportError("no such module")


def test_lengths_are_those_of_image_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "PAIRS", 2000)
    texts = [path.read_text().splitlines() for path in training.synthetic(tmp_path)]
    lengths = torch.tensor([[len(text.split()) for text in side] for side in texts], dtype=torch.float64)
    assert lengths.mean(1).tolist() == pytest.approx([14, 14], abs=0.5)
    assert lengths.std(1).tolist() == pytest.approx([4, 4], abs=0.4)
    assert torch.corrcoef(lengths)[0, 1] > 0.7


@pytest.mark.parametrize("kind", ["transformer", "bahdanau"])
def test_gate_then_a_table(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(training, "PEERS", {"another": absent})
    systems = training.make_systems(kind, *training.synthetic(tmp_path), tmp_path / "run", "float32")
    assert "another is left out: no such module" in capsys.readouterr().out
    before = [parameter.detach().clone() for parameter in systems["regard"].model.parameters()]
    speeds = training.timed(systems, 2, 1, time.perf_counter)
    assert len(speeds["regard"]) == 2
    moved = [not torch.equal(one, two) for one, two in zip(before, systems["regard"].model.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2
    lines = training.table(
        kind, systems, speeds, argparse.Namespace(threads=1, clock="wall", precision="float32")
    ).splitlines()
    assert lines[1].startswith("regard ")
    assert "ours 1.00 times as fast" in lines[1]


def test_another_loss_does_not_pass(tmp_path: Path) -> None:
    trainer = training.make_trainer("transformer", *training.synthetic(tmp_path), tmp_path / "run", "float32")
    trainer.task = replace(trainer.task, smoothing=0.2)
    with pytest.raises(SystemExit, match="gate: our loss is"):
        training.gate(trainer)
