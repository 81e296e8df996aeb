"""The promise about memory, measured by the benchmark itself."""

from __future__ import annotations

import argparse
import sys

import pytest

from benchmarks import additive_memory


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can reset a process's memory peak")
def test_blocked_additive_attention_keeps_its_promise() -> None:
    """B = 1, T = S = 2048, A = 128, float32, forward and backward: the plain way needs over 4 GiB."""
    additive_memory.verify()
    row = additive_memory.run("blocked", 2048, argparse.Namespace(hidden=128, causal=False))
    assert float(row["peak_mib"]) < additive_memory.LIMIT_MIB
