"""Systems in processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
import torch
from benchmarks.worker import Worker


def adder(number: int) -> Callable[[int], tuple[int, int, int]]:
    return lambda other: (number + other, torch.get_num_threads(), os.getpid())


def absent() -> Callable[[], None]:
    raise ImportError("no such module")


def nothing() -> None:
    return None


def test_it_answers_from_its_own_process_with_its_seconds() -> None:
    with Worker(adder, 3, threads=1, clock="wall") as worker:
        seconds, (total, threads, process) = worker(4)
    assert worker.able
    assert (total, threads) == (7, 1)
    assert seconds > 0
    assert process != os.getpid()


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(ImportError, match="no such module"):
        Worker(absent, threads=1, clock="wall")
    with Worker(nothing, threads=1, clock="wall") as worker:
        assert not worker.able
