"""Engines by name."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import nn

from regard.decode.generation import Engine
from regard.engines.ctranslate2 import CTranslate2

EngineName = Literal["own", "ctranslate2"]
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
    if name not in get_args(EngineName):
        raise ValueError(f"the engine is {' or '.join(get_args(EngineName))}; got {name!r}")
    if name == "own":
        if compute is not None:
            raise ValueError(f"compute={compute!r} is for the engine ctranslate2; the engine is 'own'")
        return None
    return CTranslate2(model, compute=compute or "float32", device=device)
