"""Engines by name."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import nn

from regard.decode.generation import Engine
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.onnx import Onnx

EngineName = Literal["own", "ctranslate2", "onnx"]
"""Names of engines: `regard.decode`, or another program."""


def make_engine(
    name: str, model: nn.Module, *, compute: str | None = None, device: str | torch.device | None = None
) -> Engine | None:
    """Make the engine that searches for a model; None for our own search.

    Args:
        name: one of `EngineName`.
        model: what is to be searched.
        compute: the engine's type of numbers, `"int8"`; None for float32.
        device: where it computes; None to let the engine choose.

    >>> make_engine("own", nn.Linear(1, 1), compute="int8")
    Traceback (most recent call last):
    ValueError: compute='int8' is for the engine ctranslate2; the engine is 'own'
    """
    names = get_args(EngineName)
    if name not in names:
        raise ValueError(f"the engine is {', '.join(names[:-1])} or {names[-1]}; got {name!r}")
    if compute is not None and name != "ctranslate2":
        raise ValueError(f"compute={compute!r} is for the engine ctranslate2; the engine is {name!r}")
    if name == "own":
        return None
    if name == "onnx":
        return Onnx(model, device=device)
    return CTranslate2(model, compute=compute or "float32", device=device)
