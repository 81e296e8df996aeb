"""The training benchmark, small: its gate can fail, systems that are not here are left out, and it ends in a table."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from benchmarks.worker import clocked

from benchmarks import training

os.environ["ACCELERATE_USE_CPU"] = "true"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, _on_device: None) -> None:
    torch.set_default_device(None)
    sizes = {"PAIRS": 60, "WORDS": 50, "DIM": 8, "HEADS": 2, "HIDDEN": 12, "LAYERS": 1, "EMBEDDING": 6, "STATE": 10}
    for name, size in {**sizes, "TOKENS": 200}.items():
        monkeypatch.setattr(training, name, size)


def test_lengths_are_those_of_image_descriptions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "PAIRS", 2000)
    texts = [path.read_text().splitlines() for path in training.synthetic(tmp_path)]
    lengths = torch.tensor([[len(text.split()) for text in side] for side in texts], dtype=torch.float64)
    assert lengths.mean(1).tolist() == pytest.approx([14, 14], abs=0.5)
    assert lengths.std(1).tolist() == pytest.approx([4, 4], abs=0.4)
    assert torch.corrcoef(lengths)[0, 1] > 0.7


@pytest.mark.parametrize("kind", ["transformer", "bahdanau"])
def test_gate_then_a_table(kind: str, tmp_path: Path) -> None:
    trainer = training.make_trainer(kind, *training.synthetic(tmp_path), tmp_path / "run", "float32")
    training.gate(trainer)
    system = training.ours(trainer)
    before = [parameter.detach().clone() for parameter in system.model.parameters()]
    options = argparse.Namespace(threads=1, clock="wall", precision="float32", rounds=2, updates=1, warm=1)
    speeds = training.timed({"regard": clocked(system.updates, "wall")}, options)
    assert len(speeds["regard"].rounds) == 2
    moved = [not torch.equal(one, two) for one, two in zip(before, system.model.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2
    lines = training.table(kind, speeds, options).splitlines()
    assert lines[1].startswith("regard ")
    assert f"{sum(parameter.numel() for parameter in system.model.parameters()):,} parameters" in lines[1]
    assert "ours 1.00 times as fast" in lines[1]


def test_another_loss_does_not_pass(tmp_path: Path) -> None:
    trainer = training.make_trainer("transformer", *training.synthetic(tmp_path), tmp_path / "run", "float32")
    trainer.task = replace(trainer.task, smoothing=0.2)
    with pytest.raises(SystemExit, match="gate: our loss is"):
        training.gate(trainer)
