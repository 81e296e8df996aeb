"""`regard compare`, with processes."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli import app
from regard.runs.folder import checkpoint_folders
from tests.train.tiny import TEXT, metrics, train

ENVIRONMENT = {"COLUMNS": "200", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
RUN = CliRunner(env=ENVIRONMENT)
RATES = "train.optimizer.rate=0.02,1e20"


def arguments(folder: Path, *more: str) -> list[str]:
    (folder / "tiny.yaml").write_text(TEXT)
    return ["compare", str(folder / "tiny.yaml"), *more, "--runs", str(folder / "runs"), "--name", "rates"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that goes well beside one whose loss is soon not a number."""
    folder = tmp_path_factory.mktemp("compared")
    done = RUN.invoke(app, [*arguments(folder, RATES, "train.steps=10"), "--jobs", "2"])
    assert done.exit_code == 1, done.output
    (folder / "output.txt").write_text(done.output)
    return folder


def test_a_failure_is_a_row_with_its_reason_and_the_others_are_trained(compared: Path) -> None:
    output = (compared / "output.txt").read_text()
    assert "rate=0.02: done" in output
    assert "rate=1e20: failed the loss is not finite at step" in output
    page = (compared / "runs/rates/comparison.md").read_text()
    assert f"regard compare {compared / 'tiny.yaml'} {RATES} train.steps=10 --runs" in page
    assert "| 0.02 | 10,254 | 10 | " in page
    assert "| 1e20 | – | – | – | " in page
    assert (compared / "runs/rates/comparison.png").read_bytes().startswith(b"\x89PNG")
    (line,) = csv.DictReader((compared / "runs/rates/comparison.csv").read_text().splitlines())
    assert (line["run"], line["steps"], float(line["seconds"]) > 0) == ("rate-0.02", "10", True)


def test_a_run_of_a_comparison_is_the_run_of_regard_train(compared: Path, tmp_path: Path) -> None:
    train(tmp_path / "alone", "train.steps=10")
    assert metrics(compared / "runs/rates/rate-0.02") == metrics(tmp_path / "alone")


def test_a_finished_run_is_not_trained_again(compared: Path) -> None:
    done = RUN.invoke(app, [*arguments(compared, RATES, "train.steps=10"), "--dry-run"])
    folder = compared / "runs/rates"
    assert done.output.splitlines() == [f"{folder}/rate-0.02: rate=0.02 (done)", f"{folder}/rate-1e20: rate=1e20"]
    further = RUN.invoke(app, [*arguments(compared, RATES, "train.steps=20"), "--dry-run"])
    assert "(done)" not in further.output


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    done = RUN.invoke(app, [*arguments(tmp_path, "train.seed=1,2"), "--dry-run"])
    assert done.exit_code == 0, done.output
    assert "seed-2: seed=2" in done.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("assignment", "sentence"),
    [
        ("train.steps=9", "there is nothing to compare; give a key several values: train.seed=1,2,3"),
        (
            "model.attention=additive,aditive",
            "with attention=aditive: the command line: model.attention is 'aditive': did",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(assignment: str, sentence: str, tmp_path: Path) -> None:
    done = RUN.invoke(app, arguments(tmp_path, assignment))
    assert done.exit_code == 2
    assert done.output.startswith(f"error: {sentence}")
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_ends_all_runs_with_a_checkpoint(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "regard", *arguments(tmp_path, "train.seed=1,2", "train.steps=9999"), "--jobs=2"]
    process = subprocess.Popen(
        command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    folders = [tmp_path / f"runs/rates/seed-{seed}" for seed in (1, 2)]
    end = time.monotonic() + 60
    while not all((folder / "metrics.jsonl").exists() for folder in folders):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert output.endswith("interrupted; the same command goes on from there\n")
    for folder in folders:
        assert "interrupted after step" in (folder / "train.log").read_text()
        assert checkpoint_folders(folder / "checkpoints")
