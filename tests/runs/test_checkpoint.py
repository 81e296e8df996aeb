"""Checkpoints: complete or not there, and a run that goes on is the same run."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from regard.runs import files
from regard.runs.checkpoint import Checkpoints, Progress, average
from regard.runs.files import DiskError, atomic_path, read_tensors, write_json, write_tensors


def trained(steps: int, model: nn.Linear, optimizer: torch.optim.Optimizer) -> None:
    torch.manual_seed(steps)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.dropout(model(torch.randn(3, 4)), 0.5).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW])
def test_a_resumed_run_is_the_same_run(kind: type[torch.optim.Optimizer], tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    optimizer = kind(model.parameters(), lr=0.1)  # type: ignore[call-arg]
    trained(3, model, optimizer)
    Checkpoints(tmp_path).save(Progress(step=3, tokens=9, schedule={"factor": 0.5}), model, optimizer)
    trained(4, model, optimizer)
    fresh = nn.Linear(4, 2)
    other = kind(fresh.parameters(), lr=9.0)  # type: ignore[call-arg]
    progress = Checkpoints(tmp_path).restore(fresh, other)
    assert progress == Progress(step=3, tokens=9, schedule={"factor": 0.5})
    trained(4, fresh, other)
    assert torch.equal(fresh.weight, model.weight)


def test_the_newest_counts_and_the_oldest_go(tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    checkpoints = Checkpoints(tmp_path, keep=2)
    assert checkpoints.restore(model, optimizer) is None
    for step in (5, 10, 15):
        checkpoints.save(Progress(step=step), model, optimizer)
    assert [path.name for path in checkpoints.paths()] == ["00000010", "00000015"]
    (tmp_path / ".00000020.draft").mkdir()  # a run killed while it wrote
    restored = checkpoints.restore(model, optimizer)
    assert restored is not None
    assert restored.step == 15


def test_only_the_process_that_writes_writes(tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters())
    Checkpoints(tmp_path).save(Progress(step=5), model, optimizer, writes=False)
    assert Checkpoints(tmp_path).paths() == []


def test_what_an_interrupt_left_is_not_averaged(tmp_path: Path) -> None:
    model = nn.Linear(4, 2)
    checkpoints = Checkpoints(tmp_path, keep=3, every=10)
    for step in (10, 20, 23, 27, 30, 40, 41, 45):
        checkpoints.save(Progress(step=step), model, torch.optim.SGD(model.parameters(), lr=0.1))
        assert int(checkpoints.paths()[-1].name) == step
    assert [int(path.name) for path in checkpoints.last()] == [30, 40, 45]
    (tmp_path / ".00000010.old").mkdir()  # a run killed while it cleared up
    checkpoints.save(Progress(step=50), model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000030", "00000040", "00000045", "00000050"]
    assert [int(path.name) for path in checkpoints.last()] == [30, 40, 50]


def test_averaging(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=3)
    model = nn.Linear(1, 1, bias=False)
    for step, weight in enumerate((1.0, 2.0, 6.0)):
        nn.init.constant_(model.weight, weight)
        checkpoints.save(Progress(step=step), model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert average(checkpoints.paths())["weight"].item() == 3.0


def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"a": 1})

    def interrupted() -> None:
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == '{\n  "a": 1\n}\n'

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_settle", full)
    with pytest.raises(
        DiskError, match=r"a.json: cannot be written \(No space left on device\); what was there is kept"
    ):
        write_json(path, {"a": 2})
    assert path.read_text() == '{\n  "a": 1\n}\n'
    assert [item.name for item in tmp_path.iterdir()] == ["a.json"]


def test_a_tensor_with_two_names_is_written_once(tmp_path: Path) -> None:
    words = torch.randn(50, 20)
    tensors = {"a": words, "tied": words, "turned": words.mT, "part": words[:7], "none": words[:0], "naught": words[:0]}
    write_tensors(tmp_path / "tied", tensors)
    write_tensors(tmp_path / "apart", {name: tensor.clone() for name, tensor in tensors.items()})
    for name in ("tied", "apart"):
        found = read_tensors(tmp_path / name)
        assert found.keys() == tensors.keys()
        assert all(torch.equal(found[key], tensor) for key, tensor in tensors.items())
    saved = (tmp_path / "apart").stat().st_size - (tmp_path / "tied").stat().st_size
    assert saved == pytest.approx(words.nbytes, abs=200)  # what the header says of it aside


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(DiskError, match=r"runs/mine/a.json: cannot be written \((Not a directory|File exists)\)"):
        write_json(tmp_path / "runs/mine/a.json", {})
