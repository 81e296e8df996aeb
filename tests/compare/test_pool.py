"""Processes: how the cores are divided, and why one failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.compare import pool as pools
from regard.compare.pool import Pool
from regard.compare.trial import Clock
from regard.runs.files import write_json
from tests.compare.made_up import comparison


@pytest.mark.parametrize(("jobs", "threads"), [(1, None), (2, "3"), (3, "2"), (64, "2")])
def test_cores_are_divided_among_those_that_run_together(
    jobs: int, threads: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(pools, "_cores", lambda: 6)
    pool = Pool(comparison("train.seed=1,2,3").trials, jobs)
    assert pool._environment().get("OMP_NUM_THREADS") == threads
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert pool._environment()["OMP_NUM_THREADS"] == "5"


@pytest.mark.parametrize(
    ("status", "log", "reason"),
    [
        (2, "step 5\nerror: the disk is full\n\n", "the disk is full"),
        (1, "Traceback\n  File\nRuntimeError: odd\n", "RuntimeError: odd; see {log}"),
        (1, "", "exit status 1; see {log}"),
        (-9, "error: no\n", "ended by SIGKILL; see {log}"),
        (0, "interrupted\n", "stopped before its last step; see {log}"),
    ],
)
def test_the_reason_is_one_sentence(status: int, log: str, reason: str, tmp_path: Path) -> None:
    trial = comparison("train.seed=1,2", runs=tmp_path).trials[0]
    trial.folder.mkdir(parents=True)
    trial.log.write_text(log)
    assert pools._reason(trial, status) == reason.format(log=trial.log)


def test_a_run_is_finished_when_it_has_all_its_steps_and_ended_cleanly(tmp_path: Path) -> None:
    def trial(*more: str):  # type: ignore[no-untyped-def]
        return comparison("train.seed=1,2", *(more or ["train.steps=800"]), runs=tmp_path).trials[0]

    assert not trial().finished()
    with Clock(trial().folder).running():
        pass
    assert not trial().finished()
    write_json(trial().folder / "checkpoints/00000800/progress.json", {"step": 800, "waited": 3, "optimizer": []})
    assert trial().finished()
    assert not trial("train.steps=801").finished()
    assert trial("train.steps=801", "train.patience=3").finished()
    with pytest.raises(SystemExit), Clock(trial().folder).running():
        raise SystemExit(2)
    assert not trial().finished()
