"""Construction of inference engines by name."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import nn

from regard.decode.generation import Engine
from regard.engines.ctranslate2 import CTranslate2
from regard.engines.onnx import Onnx
from regard.nn.cpu_decode.int8 import check_compute

EngineName = Literal["own", "ctranslate2", "onnx"]
"""Names of engines: `own` for `regard.decode`, or an external program."""


def make_engine(
    name: str, model: nn.Module, *, compute: str | None = None, device: str | torch.device | None = None
) -> Engine | None:
    """Return the inference engine of a model; None for `regard.decode`.

    Args:
        name: one of `EngineName`.
        model: the model to decode with.
        compute: number type, such as `"int8"`; None for float32.
        device: device of the engine; None for its default.

    >>> make_engine("own", nn.Linear(1, 1), compute="int4")
    Traceback (most recent call last):
    ValueError: compute is float32 or int8; got 'int4'
    """
    names = get_args(EngineName)
    if name not in names:
        raise ValueError(f"the engine is {', '.join(names[:-1])} or {names[-1]}; got {name!r}")
    if name == "own":
        check_compute(compute or "float32", model)
        return None
    if name == "onnx":
        if compute not in (None, "float32"):
            raise ValueError(f"the engine onnx computes in float32; got {compute!r}")
        return Onnx(model, device=device)
    return CTranslate2(model, compute=compute or "float32", device=device)
