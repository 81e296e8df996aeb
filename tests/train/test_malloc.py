"""What the C library does with memory that is freed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from regard.train import malloc

COUNT = """
import sys, torch
from regard.train import malloc
asked = malloc.keep() if sys.argv[1] == "keep" else False
def faults():
    return int(open("/proc/self/stat").read().rsplit(")", 1)[1].split()[7])
for _ in range(20):
    torch.ones(1 << 24)
before = faults()
for _ in range(20):
    torch.ones(1 << 24)
print(asked, faults() - before)
"""


def faults(how: str) -> tuple[bool, int]:
    said = subprocess.run([sys.executable, "-c", COUNT, how], capture_output=True, text=True, check=True, timeout=60)
    asked, count = said.stdout.split()
    return asked == "True", int(count)


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is asked")
def test_freed_memory_is_used_again() -> None:
    """Tensors of 64 MiB, one after the other: after the first ones their pages are not asked for anew."""
    asked, count = faults("keep")
    if not asked:
        pytest.skip("this C library cannot be asked")
    _, without = faults("leave")
    assert count < without / 10


def test_who_has_said_something_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    assert not malloc.keep()
