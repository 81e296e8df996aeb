"""A signal ends a run with a checkpoint, wherever it comes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from regard.runs.checkpoint import Progress
from regard.runs.run import Run
from regard.tasks.measurement import Measurement, measure
from regard.train import validator
from regard.train.checkpointing import Checkpointing
from regard.train.screen import Screen
from regard.train.signals import STOPPING, Interrupted, as_interrupts
from tests.train.test_resuming import started
from tests.train.tiny import metrics, train


class Stopping(Screen):
    """Sends a signal after a step."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(quiet=True)
        self.number, self.step = number, step
        self.said: list[str] = []

    def stepped(self, step: int, nll: float, tokens: int, left: float | None = None) -> None:
        if step == self.step:
            os.kill(os.getpid(), self.number)

    def notice(self, sentence: str) -> None:
        self.said.append(sentence)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run from beginning to end."""
    folder = tmp_path_factory.mktemp("whole") / "tiny"
    train(folder)
    return folder


@pytest.mark.parametrize("number", STOPPING)
def test_each_signal_writes_a_checkpoint(number: signal.Signals, whole: Path, tmp_path: Path) -> None:
    before = signal.getsignal(number)
    screen = Stopping(number, 15)
    outcome = train(tmp_path, screen=screen)
    assert (outcome.reason, outcome.progress.step, outcome.signal) == ("interrupted", 16, number)
    assert [one for one in screen.said if number.name in one]
    assert signal.getsignal(number) == before
    train(tmp_path)
    assert metrics(tmp_path) == metrics(whole)


def test_a_process_exits_by_its_signal(tmp_path: Path) -> None:
    process = started(tmp_path)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert "SIGTERM: " in said
    assert Run(tmp_path / "tiny").checkpoints().paths()


@pytest.mark.parametrize("call", [1, 2, 4, 5, 6])
def test_a_measurement_is_cut_short_and_taken_up_again(
    call: int, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four validations during training, then valid and test at its end."""
    calls: list[int] = []

    def slow(*arguments: Any, **settings: Any) -> Measurement:
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        return measure(*arguments, **settings)

    monkeypatch.setattr(validator, "measure", slow)
    begin = time.monotonic()
    screen = Stopping(signal.SIGTERM, -1)
    outcome = train(tmp_path, screen=screen)
    assert time.monotonic() - begin < 30
    assert (outcome.reason, outcome.progress.step) == ("interrupted", min(40, 10 * call))
    assert outcome.progress.unvalidated == (call <= 4)
    assert [one for one in screen.said if "measurement stops here" in one]
    again = train(tmp_path)
    assert again.reason == "finished"
    assert metrics(tmp_path) == metrics(whole)
    assert (tmp_path / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()


def test_time_makes_checkpoints_that_change_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10**9, 100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))  # each look is 100 seconds later
    kept: list[int] = []
    save = Checkpointing.save

    def noted(self: Checkpointing, progress: Progress) -> None:
        kept.append(progress.step)
        save(self, progress)

    monkeypatch.setattr(Checkpointing, "save", noted)
    train(tmp_path / "five", "train.checkpoint_every=500")
    assert len(kept) > 5
    assert kept != [40]
    kept.clear()
    train(tmp_path / "hour", "train.checkpoint_every=1h")
    assert len(kept) == 2
    assert kept[1] == 40
    assert metrics(tmp_path / "five") == metrics(tmp_path / "hour") == metrics(whole)


def test_a_second_request_within_a_second_is_the_first_again() -> None:
    def twice() -> None:
        with as_interrupts():
            try:
                os.kill(os.getpid(), signal.SIGHUP)
            except Interrupted:
                os.kill(os.getpid(), signal.SIGHUP)
                raise

    with pytest.raises(Interrupted) as stop:
        twice()
    assert stop.value.number == signal.SIGHUP
