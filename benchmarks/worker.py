"""A system in a process of its own: what it asks of the C library or of PyTorch the systems beside it do not get."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Self

import torch

from regard.cpu_settings import reuse_freed_memory

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}

Call = Callable[..., Any]
Timed = Callable[..., tuple[float, Any]]
"""A call that gives its seconds, and what it gave."""


def clocked(call: Call, clock: str) -> Timed:
    """A call with its seconds by one of `CLOCKS`.

    >>> seconds, given = clocked(abs, "wall")(-3)
    >>> seconds > 0, given
    (True, 3)
    """
    now = CLOCKS[clock]

    def timed(*arguments: Any) -> tuple[float, Any]:
        begin = now()
        given = call(*arguments)
        return now() - begin, given

    return timed


class Worker:
    """Makes a call there, and makes it when it is asked to; to be used in a `with`.

    Args:
        make: what gives the call, or None where there is none: a function that a process can be begun with, and
        arguments: of it.
        threads: of the process.
        clock: one of `CLOCKS`.
        reuse: whether glibc keeps freed memory for the next tensors, as it does in `regard train` and `regard predict`.

    Raises:
        ImportError: what it needs is not here.
    """

    def __init__(
        self, make: Callable[..., Call | None], *arguments: Any, threads: int, clock: str, reuse: bool = True
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(far, make, arguments, threads, clock, reuse), daemon=True)
        self.process.start()
        far.close()
        self.able, missing = self._answer()
        if missing:
            raise ImportError(missing)

    def __call__(self, *arguments: Any) -> tuple[float, Any]:
        """Seconds, and what the call gave."""
        self.pipe.send(arguments)
        seconds, given = self._answer()
        return seconds, given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe.close()
        self.process.join()

    def _answer(self) -> Any:
        try:
            return self.pipe.recv()
        except EOFError:
            raise SystemExit("a system has ended before its time; what it said is above") from None


def _serve(
    pipe: Connection, make: Callable[..., Call | None], made_of: Any, threads: int, clock: str, reuse: bool
) -> None:
    torch.manual_seed(0)
    if reuse:
        reuse_freed_memory()
    try:
        call = make(*made_of)
    except ImportError as error:
        pipe.send((False, str(error)))
        return
    torch.set_num_threads(threads)  # not before: our trainer chooses by itself
    pipe.send((call is not None, ""))
    while call is not None:
        try:
            arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(clocked(call, clock)(*arguments))
