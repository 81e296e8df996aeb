"""Settings of a process on a CPU: few threads for small models, and freed memory that is used again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from regard import cpu_settings
from regard.cpu_settings import SMALL, reuse_freed_memory, threads_for, tune_cpu

COUNT = """
import sys, torch
from regard.cpu_settings import reuse_freed_memory
done = reuse_freed_memory() if sys.argv[1] == "reuse" else False
def faults():
    return int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[7])
for _ in range(20):
    torch.ones(1 << 24)
before = faults()
for _ in range(20):
    torch.ones(1 << 24)
print(done, faults() - before)
"""


def of(parameters: int) -> nn.Module:
    """A model of so many parameters, and many embeddings, which do not count."""
    return nn.Sequential(nn.Embedding(1000, 2000, device="meta"), nn.Linear(1, parameters, bias=False, device="meta"))


@pytest.fixture
def _four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_settings, "_ALL", 4)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


@pytest.mark.usefixtures("_four")
def test_small_models_get_one_thread_and_large_ones_all() -> None:
    assert threads_for(of(SMALL - 1)) == 1
    assert threads_for(of(SMALL)) == 4


@pytest.mark.usefixtures("_four")
def test_the_environment_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert threads_for(of(1)) == 4


@pytest.mark.usefixtures("_four")
def test_a_small_model_before_a_large_one_changes_nothing() -> None:
    before = torch.get_num_threads()
    try:
        tune_cpu(of(1))
        assert torch.get_num_threads() == 1
        assert threads_for(of(SMALL)) == 4
    finally:
        torch.set_num_threads(before)


def faults(how: str) -> tuple[bool, int]:
    printed = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True, timeout=60)
    done, count = printed.stdout.split()
    return done == "True", int(count)


@pytest.mark.skipif(sys.platform != "linux", reason="glibc alone has mallopt")
def test_freed_memory_is_used_again() -> None:
    """Tensors of 64 MiB, one after the other: after the first ones there are hardly any new page faults."""
    done, count = faults("reuse")
    if not done:
        pytest.skip("this C library has no mallopt")
    _, without = faults("leave")
    assert count < without / 10


def test_variables_of_the_environment_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    assert not reuse_freed_memory()


@pytest.mark.parametrize(("load", "threads"), [(0.2, 4), (1.6, 2), (3.2, 1), (27.0, 1)])
def test_answers_take_no_more_threads_than_cores_are_free(
    load: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(cpu_settings, "_ALL", 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    before = torch.get_num_threads()
    try:
        cpu_settings.tune_cpu_for_answers(nn.Linear(2000, 600, device="meta"))
        assert torch.get_num_threads() == threads
        cpu_settings.tune_cpu_for_answers(nn.Linear(3, 5, device="meta"))
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
