"""Locator of the first module with a non-finite output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching.batch import Batch


class NotFiniteError(ArithmeticError):
    """Non-finite loss; the message names the module and the batch where it occurred."""


def locate(model: nn.Module, run: Callable[[], Any]) -> str:
    """Run the model again with forward hooks and return the name of the first module with a non-finite output.

    >>> class Broken(nn.Module):
    ...     def forward(self, x):
    ...         return x / 0
    >>> model = nn.Sequential(nn.Linear(2, 2), Broken(), nn.Linear(2, 2))
    >>> locate(model, lambda: model(torch.ones(1, 2)))
    'module 1 (Broken)'
    """
    guilty: list[str] = []
    handles = [
        module.register_forward_hook(_watcher(name, module, guilty)) for name, module in model.named_modules() if name
    ]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    bad = [name for name, parameter in model.named_parameters() if not torch.isfinite(parameter).all()]
    if bad:
        return f"parameter {bad[0]}"
    return guilty[0] if guilty else "the loss itself"


def describe_examples(batch: Batch, question: str) -> str:
    """Return an excerpt of the first examples of a batch, or of the rows of one long text, for a message."""
    what = "examples" if batch.begins and f"{question}_lengths" in batch else "rows"
    return f"{what} {', '.join(map(str, batch.indices[:5]))} ..."


def _watcher(name: str, module: nn.Module, guilty: list[str]) -> Callable[[nn.Module, Any, Any], None]:
    def watch(_: nn.Module, __: Any, output: Any) -> None:
        if not guilty and any(not torch.isfinite(part).all() for part in _tensors(output)):
            guilty.append(f"module {name} ({type(module).__name__})")

    return watch


def _tensors(output: Any) -> list[Tensor]:
    """Return the floating-point tensors of an output, including those nested in tuples and dataclasses."""
    if isinstance(output, Tensor):
        return [output] if output.is_floating_point() else []
    if isinstance(output, tuple | list):
        return [tensor for part in output for tensor in _tensors(part)]
    context = getattr(output, "context", None)
    return [context] if isinstance(context, Tensor) else []
