"""`import regard` is silent, offline, light, and asks for neither a GPU nor Triton nor what only commands need.

What it offers is imported when it is asked for; PyTorch not before.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import regard
import regard.decode

PROBE = """
import socket, sys, time
def refuse(*_): raise AssertionError("import regard opened a connection")
socket.socket.connect = refuse
import regard
assert "torch" not in sys.modules, "import regard imported torch before it was needed"
import torch
sys.modules["triton"] = None  # as on a machine without it
begin = time.process_time()
regard.Mask, regard.capture, regard.nn, regard.ops
took = time.process_time() - begin
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
    assert set(regard.__all__) == {"Mask", "__version__", "capture", "load", "nn", "ops", "register", "view"}


@pytest.mark.parametrize(
    "package", [regard, regard.decode, regard.nn, regard.ops], ids=lambda package: package.__name__
)
def test_every_public_name_is_there(package: ModuleType) -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("package", [regard, regard.decode], ids=lambda package: package.__name__)
def test_a_name_asked_for_is_not_hidden_by_a_module(package: ModuleType) -> None:
    """Importing `package.x` puts a module `x` into the package: it must not take the place of what is public."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert {name for name in package.__all__ if name in modules} == {"nn", "ops", "view"}.intersection(package.__all__)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing
