"""`regard runs`: lists, compares and removes runs, without PyTorch."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from regard.cli.app import app
from tests.cli.command import RUN, asked, refused
from tests.runs.test_inventory import make, row


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make(tmp_path / "runs/dates", row(20, "test", loss=1.0, exact_match=0.75))
    make(tmp_path / "runs/words", row(10, "valid", loss=2.0, bleu=31.25), step=10)
    return tmp_path / "runs"


def test_runs_are_listed(runs: Path) -> None:
    lines = {line.split()[1]: line for line in asked("runs", "--runs", runs).splitlines() if "pairs" in line}
    assert set(lines) == {str(runs / "dates"), str(runs / "words")}
    assert "finished" in lines[str(runs / "dates")]
    assert "exact_match 0.75 (test)" in lines[str(runs / "dates")]
    assert "stopped" in lines[str(runs / "words")]
    assert "10 of 20" in lines[str(runs / "words")]


def test_metrics_stand_side_by_side(runs: Path) -> None:
    told = asked("runs", "--runs", runs, "--compare")
    assert all(name in told for name in ("loss", "exact_match", "bleu", "0.75", "31.25"))
    one = asked("runs", "words", "--runs", runs, "--compare")
    assert "31.25" in one
    assert "exact_match" not in one


def test_json_is_one_object_per_line(runs: Path) -> None:
    rows = [json.loads(line) for line in asked("runs", "--runs", runs, "--json").splitlines()]
    assert {Path(one["folder"]).name: one["state"] for one in rows} == {"dates": "finished", "words": "stopped"}
    assert {one["metrics"].get("bleu") for one in rows} == {None, 31.25}


def test_an_empty_folder_says_what_makes_a_run(tmp_path: Path) -> None:
    assert "regard train" in asked("runs", "--runs", tmp_path)


def test_removing_asks_first(runs: Path) -> None:
    arguments = ["runs", "dates", "--runs", str(runs), "--remove"]
    refusal = RUN.invoke(app, arguments, input="n\n")
    assert refusal.exit_code == 1
    assert (runs / "dates").exists()
    assert RUN.invoke(app, arguments, input="y\n").exit_code == 0
    assert [path.name for path in runs.iterdir()] == ["words"]
    asked("runs", runs / "words", "--remove", "--yes")
    assert list(runs.iterdir()) == []


def test_what_is_not_removed(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--remove" in refused("runs", "--runs", runs, "--remove")
    assert f"did you mean {runs / 'dates'}?" in refused("runs", runs / "date", "--remove", "--yes")
    with (runs / "words/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "under way" in refused("runs", "dates", "words", "--runs", runs, "--remove", "--yes")
    monkeypatch.chdir(runs / "words/checkpoints")
    assert "the folder you are in" in refused("runs", runs / "words", "--remove", "--yes")
    assert {path.name for path in runs.iterdir()} == {"dates", "words"}


def test_listing_needs_no_torch(runs: Path) -> None:
    probe = (
        "import sys; from typer.testing import CliRunner; from regard.cli import app\n"
        "for more in ([], ['--compare'], ['--json'], ['dates', '--remove', '--yes']):\n"
        "    assert CliRunner().invoke(app, ['runs', '--runs', sys.argv[1], *more]).exit_code == 0\n"
        "print([name for name in ('torch', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", probe, str(runs)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
