"""Signals that end a run with a checkpoint: Ctrl-C, and signals of schedulers, `docker stop` and closed terminals."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name))
"""Signals that stop a run; Windows lacks some of them."""
_ECHO = 1.0  # seconds in which a repeated signal counts as the same request: schedulers and terminals send several


class MeasurementStopped(BaseException):
    """Interrupts a measurement; a BaseException, so that no `except Exception` catches it."""


class Interrupted(KeyboardInterrupt):
    """KeyboardInterrupt with the number of its signal.

    Attributes:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def as_interrupts() -> Iterator[None]:
    """Raise `Interrupted` on each of these signals inside this context, as Ctrl-C does."""
    first = math.inf

    def come(number: int, frame: FrameType | None) -> None:
        nonlocal first
        now = time.monotonic()
        if number == signal.SIGINT or not first <= now <= first + _ECHO:
            first = min(first, now)
            raise Interrupted(number)

    with _handled(come):
        yield


class StopSignals:
    """Requests to stop, recorded by a signal handler and checked by the training loop.

    Attributes:
        number: first signal that was received; None before any.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        """Initialise without a signal.

        Args:
            say: prints a sentence.
        """
        self.number: int | None = None
        self._say = say
        self._since = 0.0
        self._measuring = False

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Record signals inside this context instead of ending the process; a second signal ends it immediately."""
        with _handled(self._come):
            yield

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Raise `MeasurementStopped` on a signal inside this context, because a measurement may take minutes."""
        if self.number is not None:
            raise MeasurementStopped
        self._measuring = True
        try:
            yield
        finally:
            self._measuring = False

    def _come(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            self.number, self._since = number, time.monotonic()
            with suppress(OSError, RuntimeError):  # the terminal is closed, or this handler interrupted a write to it
                self._say(self._sentence(number))
            if self._measuring:
                raise MeasurementStopped
        elif number == signal.SIGINT:
            raise KeyboardInterrupt
        elif time.monotonic() - self._since > _ECHO:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _sentence(self, number: int) -> str:
        if self._measuring:
            return f"{signal.Signals(number).name}: the measurement stops here; `regard train` takes it up again"
        again = "press Ctrl-C again" if number == signal.SIGINT else "send another signal"
        return f"{signal.Signals(number).name}: stopping after this update; {again} to stop without a checkpoint"


@contextmanager
def _handled(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Install a signal handler inside this context; no effect outside the main thread, where Python allows none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ignored = {one for one in STOPPING if one != signal.SIGINT and signal.getsignal(one) == signal.SIG_IGN}  # nohup
    previous = {one: signal.signal(one, handler) for one in STOPPING if one not in ignored}
    try:
        yield
    finally:
        for one, before in previous.items():
            signal.signal(one, before)
