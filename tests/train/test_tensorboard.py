"""Events for TensorBoard, with a writer that notes what it is told: the package is an extra, not needed to test."""

from __future__ import annotations

import ast
import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from regard.recipes.problem import RecipeError
from regard.train.tensorboard import Events


class Writer:
    """Has the arguments of torch's `SummaryWriter` that are used here."""

    told: list[Any]

    def __init__(self, log_dir: str, *, purge_step: int) -> None:
        Writer.told = [(log_dir, purge_step)]

    def add_scalar(self, tag: str, scalar_value: float, *, global_step: int) -> None:
        Writer.told.append((tag, scalar_value, global_step))

    def close(self) -> None:
        Writer.told.append("closed")


@pytest.fixture
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    package, ours = ModuleType("tensorboard"), ModuleType("torch.utils.tensorboard")
    package.__spec__ = ModuleSpec("tensorboard", None)
    ours.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboard", package)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", ours)


@pytest.mark.usefixtures("_installed")
def test_rows_become_scalars_and_what_came_after_the_checkpoint_is_hidden(tmp_path: Path) -> None:
    events = Events(tmp_path, step=20)
    events.add(21, "train", {"loss": 0.5, "rate": 0.1})
    events.add(22, "valid", {"loss": 0.6})
    events.close()
    assert Writer.told == [
        (str(tmp_path), 21),
        ("loss/train", 0.5, 21),
        ("rate/train", 0.1, 21),
        ("loss/valid", 0.6, 22),
        "closed",
    ]


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RecipeError) as problem:
        Events(tmp_path)
    assert str(problem.value) == (
        "train.tensorboard is true, but the package tensorboard is not installed; "
        "pip install 'regard[tensorboard]', or set it to false"
    )


@pytest.mark.parametrize("method", ["__init__", "add_scalar", "close"])
def test_the_writer_of_torch_has_these_arguments(method: str) -> None:
    source = Path(torch.__file__).parent / "utils/tensorboard/writer.py"
    (real,) = [node for node in ast.parse(source.read_text()).body if getattr(node, "name", "") == "SummaryWriter"]
    assert isinstance(real, ast.ClassDef)
    (its,) = [node for node in real.body if isinstance(node, ast.FunctionDef) and node.name == method]
    code = getattr(Writer, method).__code__
    wanted = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    assert set(wanted) <= {argument.arg for argument in its.args.args}
