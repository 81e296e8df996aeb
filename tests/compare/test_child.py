"""A process that trains only as long as somebody holds its standard input."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from regard.compare.trial import Clock
from tests.train.tiny import TEXT


def test_it_stops_with_a_checkpoint_when_its_parent_is_gone(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    folder = tmp_path / "run"
    folder.mkdir()
    train = [str(tmp_path / "tiny.yaml"), "run=run", "train.steps=9999", "--runs", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-m", "regard.compare.child", str(folder), *train],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        text=True,
    )
    end = time.monotonic() + 60
    while not (folder / "metrics.jsonl").exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)
    assert not Clock(folder).clean
    output, _ = process.communicate(timeout=60)  # closes its standard input, as the death of its parent does
    assert process.returncode == 130
    assert "interrupted after step" in output
    (step,) = re.findall(r"interrupted after step (\d+)", output)
    assert (folder / "checkpoints" / f"{int(step):08d}").is_dir()
    assert not Clock(folder).clean
    assert Clock(folder).seconds > 0
