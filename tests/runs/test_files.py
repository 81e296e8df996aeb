"""Files of a run are whole, or one sentence; others may read them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from regard.runs.files import DiskError, read_tensors, write_tensors

WEIGHTS = {"a": torch.ones(3)}


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.safetensors"
    write_tensors(path, WEIGHTS)

    def full(*_: object, **__: object) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(DiskError, match=f"{path}: cannot be written .*No space left.*; what was there is kept"):
        write_tensors(path, {"a": torch.zeros(3)})
    assert torch.equal(read_tensors(path)["a"], WEIGHTS["a"])
    assert [one.name for one in tmp_path.iterdir()] == ["model.safetensors"]


def test_who_may_read_a_run_may_read_its_model(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_tensors(tmp_path / "model.safetensors", WEIGHTS)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model.safetensors").stat().st_mode) == 0o644
