"""One process at a time writes to a run, and its lock dies with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Thread

import pytest

from regard.runs.folder import RunError
from regard.runs.lock import locked
from tests.cli.command import refused
from tests.train.tiny import TEXT, train

HOLDER = """
import sys, time
from pathlib import Path
from regard.runs.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """A process that has the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_second_process_is_told_who_holds_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    process = holder(tmp_path / "tiny")
    try:
        before = sorted((tmp_path / "tiny").iterdir())
        said = refused("train", tmp_path / "tiny.yaml", "--runs", tmp_path)
        with pytest.raises(RunError, match=f"process {process.pid} on "):
            train(tmp_path / "tiny")
        assert sorted((tmp_path / "tiny").iterdir()) == before
    finally:
        process.kill()
        process.communicate()
    assert f"{tmp_path / 'tiny'} is in use: process {process.pid} on {os.uname().nodename} writes to it since 2" in said
    train(tmp_path / "tiny", "train.steps=1")  # what was killed holds nothing


def test_a_folder_that_was_made_for_the_lock_goes_with_it(tmp_path: Path) -> None:
    with locked(tmp_path / "runs/one"), locked(tmp_path / "runs/one"):
        assert (tmp_path / "runs/one/.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_drafts_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    for left in (".model.safetensors.0123.draft", "checkpoints/.00000010.4567.draft/model.safetensors"):
        (tmp_path / left).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / left).touch()
    with locked(tmp_path):
        assert sorted(path.name for path in tmp_path.rglob("*")) == [".lock", "checkpoints"]


def test_a_patient_one_waits_for_the_first(tmp_path: Path) -> None:
    entered = Event()

    def second() -> None:
        with locked(tmp_path, patience=60):
            entered.set()

    thread = Thread(target=second)
    with locked(tmp_path):
        thread.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    thread.join()


def test_many_take_turns(tmp_path: Path) -> None:
    """The lock file is removed and made again all the time, and still no two are inside."""
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        for _ in range(5):
            with locked(tmp_path / "run", patience=60):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.001)
                inside.remove(number)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 20


def test_a_lock_survives_a_fork_no_longer_than_its_holder(tmp_path: Path) -> None:
    process = holder(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with locked(tmp_path):
        pass
