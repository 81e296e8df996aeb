"""What gradients that are written by hand share: they are made once, and in the dtypes of what they are of."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.ops.softmax import full_precision


def apply_once(what: str, function: type[torch.autograd.Function], *operands: Any) -> Any:
    """The function, without autocast; under torch.func, whose transforms cannot see into it, one clear sentence.

    `what` is a mechanism and its implementation, as in "additive: the fused implementation".
    """
    try:
        with full_precision(operands[0]):
            return function.apply(*operands)
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        raise RuntimeError(f'{what} cannot be transformed by torch.func; use impl="reference"') from error


def only_once(what: str) -> None:
    """Tiles are made again by hand, which autograd cannot see into: a gradient of the gradient would be wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError(f'{what} has no second derivative; use impl="reference"')


def narrow(grads: tuple[Tensor | None, ...], like: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Gradients in the dtypes of what they are gradients of."""
    return tuple(None if g is None or t is None else g.to(t.dtype) for g, t in zip(grads, like, strict=True))
