"""What the hand-written gradients of additive attention share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.ops.softmax import full_precision


def apply_once(impl: str, function: type[torch.autograd.Function], *operands: Any) -> Any:
    """The function, without autocast; under torch.func, whose transforms cannot see into it, one clear sentence."""
    try:
        with full_precision(operands[0]):
            return function.apply(*operands)
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        raise RuntimeError(
            f'additive: the {impl} implementation cannot be transformed by torch.func; use impl="reference"'
        ) from error


def only_once(impl: str) -> None:
    """Tiles are made again by hand, which autograd cannot see into: a gradient of the gradient would be wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError(f'additive: the {impl} implementation has no second derivative; use impl="reference"')


def narrow(grads: tuple[Tensor | None, ...], like: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Gradients in the dtypes of what they are gradients of."""
    return tuple(None if g is None or t is None else g.to(t.dtype) for g, t in zip(grads, like, strict=True))
