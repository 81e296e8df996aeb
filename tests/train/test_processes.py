"""Two processes learn what one learns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.train.tiny import TEXT, metrics, train

PLAIN = ("model.dropout=0.0", "train.steps=20", "train.batch.sentences=3", "train.batch.accumulate=2")


def test_two_processes_have_the_losses_of_one(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    environment = {name: value for name, value in os.environ.items() if name != "ACCELERATE_USE_CPU"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "regard"]
    done = subprocess.run(
        [*command, "train", str(tmp_path / "tiny.yaml"), "--runs", str(tmp_path), *PLAIN],
        capture_output=True,
        text=True,
        env={**environment, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("finished after step 20") == 1
    train(tmp_path / "one", *PLAIN)
    two, one = ([json.loads(line) for line in metrics(tmp_path / name).splitlines()] for name in ("tiny", "one"))
    assert [(row["step"], row["split"]) for row in two] == [(row["step"], row["split"]) for row in one]
    for mine, theirs in zip(two, one, strict=True):
        assert mine["loss"] == pytest.approx(theirs["loss"], rel=1e-5)
