"""Process pool that trains the runs of a comparison."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import IO, Literal

from regard.compare.trial import Trial
from regard.train.signals import STOPPING, as_interrupts

State = Literal["waiting", "training", "done", "failed"]

_PAUSE = 0.2


class Pool:
    """Trains the runs that are not finished; a failed one does not affect the others.

    Attributes:
        trials: all trials in order.
        states: state of each trial.
        reasons: error message of each failed trial, by index.
    """

    def __init__(self, trials: Sequence[Trial], jobs: int) -> None:
        self.trials = tuple(trials)
        self.jobs = jobs
        self.states: list[State] = ["done" if trial.finished() else "waiting" for trial in trials]
        self.reasons: dict[int, str] = {}
        self._active: dict[int, subprocess.Popen[bytes]] = {}

    def train(self, watch: Callable[[Pool], None], stopping: Callable[[], None]) -> None:
        """Train until no trial is waiting. A signal stops all processes after a checkpoint; a second one immediately.

        Args:
            watch: called periodically to display the progress.
            stopping: called when a signal is received.

        Raises:
            Interrupted: a signal was received, and all processes have ended.
        """
        try:
            with as_interrupts():
                self._train(watch, stopping)
        finally:
            for process in self._active.values():
                process.kill()

    def _train(self, watch: Callable[[Pool], None], stopping: Callable[[], None]) -> None:
        try:
            while self._begin_and_settle():
                watch(self)
                time.sleep(_PAUSE)
            watch(self)
        except KeyboardInterrupt:
            stopping()
            self._stop()
            raise

    def _begin_and_settle(self) -> bool:
        """Collect ended processes and start the next ones; return False when none is left."""
        for number, process in list(self._active.items()):
            if process.poll() is not None:
                self._settle(number, self._active.pop(number))
        for number, state in enumerate(self.states):
            if state == "waiting" and len(self._active) < self.jobs:
                self._active[number] = self._begin(self.trials[number])
                self.states[number] = "training"
        return bool(self._active)

    def _begin(self, trial: Trial) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "regard.compare.child", str(trial.folder), *trial.arguments]
        with trial.log.open("wb") as log:  # new session: Ctrl-C reaches children only through this process
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        """Environment that divides the cores among the processes, unless the user sets the number of threads."""
        environment = {**os.environ, "FORCE_COLOR": ""}  # the log is read by people and by `_reason`
        together = min(self.jobs, len(self.trials))
        if together > 1 and "OMP_NUM_THREADS" not in environment:
            environment["OMP_NUM_THREADS"] = str(max(1, _cores() // together))
        return environment

    def _settle(self, number: int, process: subprocess.Popen[bytes]) -> None:
        _input(process).close()
        trial = self.trials[number]
        self.states[number] = "done" if trial.finished() else "failed"
        if self.states[number] == "failed":
            self.reasons[number] = _reason(trial, process.returncode)

    def _stop(self) -> None:
        """Request every process to stop after its current step, and wait for all."""
        for process in self._active.values():
            _input(process).close()
        for process in self._active.values():
            process.wait()


def _input(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None
    return process.stdin


def _cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _reason(trial: Trial, status: int) -> str:
    """Return why a run failed: its error message, its last line of output, or the signal that ended it."""
    if status < 0:
        return f"ended by {signal.Signals(-status).name}; see {trial.log}"
    lines = [line.strip() for line in trial.log.read_text(encoding="utf-8", errors="replace").splitlines()]
    said = [line for line in lines if line]
    errors = [line.removeprefix("error:").strip() for line in said if line.startswith("error:")]
    if errors:
        return errors[-1]
    if status - 128 in STOPPING:
        return f"stopped by {signal.Signals(status - 128).name} before its last step; see {trial.log}"
    if status == 0:
        return f"stopped before its last step; see {trial.log}"
    return f"{said[-1] if said else f'exit status {status}'}; see {trial.log}"
