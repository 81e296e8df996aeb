"""`import regard` is silent, offline, light, and asks for neither a GPU nor Triton nor what only commands need."""

from __future__ import annotations

import subprocess
import sys

PROBE = """
import socket, sys, time
def refuse(*_): raise AssertionError("import regard opened a connection")
socket.socket.connect = refuse
import torch
sys.modules["triton"] = None  # as on a machine without it
begin = time.perf_counter()
import regard
took = time.perf_counter() - begin
heavy = [name for name in ("matplotlib", "typer", "rich", "tokenizers", "accelerate", "sacrebleu", "babel", "pydantic",
                           "fastapi", "yaml", "transformers") if name in sys.modules]
print(took, heavy)
"""


def probe() -> tuple[float, str, str]:
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROBE], capture_output=True, text=True, check=True)
    took, heavy = done.stdout.strip().split(" ", 1)
    return float(took), heavy, done.stderr


def test_import_is_silent_and_light() -> None:
    runs = [probe() for _ in range(3)]
    assert all(stderr == "" for _, _, stderr in runs)
    assert all(heavy == "[]" for _, heavy, _ in runs)
    assert min(took for took, _, _ in runs) < 0.5


def test_the_public_names_are_these() -> None:
    import regard

    assert set(regard.__all__) == {"Mask", "__version__", "capture", "nn", "ops"}
    for floor in (regard.nn, regard.ops):
        assert len(set(floor.__all__)) == len(floor.__all__)
        assert all(hasattr(floor, name) for name in floor.__all__)
