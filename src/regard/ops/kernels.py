"""Availability of Triton's kernels, and what gradients written by hand share."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import torch
from torch import Tensor

from regard.ops.softmax import full_precision

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
"""Dtypes that the kernels read."""


def kernels_supported(*tensors: Tensor) -> bool:
    """Return whether kernels can read all of these here: on a GPU, in a dtype they have, where Triton is installed.

    >>> kernels_supported(torch.ones(2))
    False
    """
    if torch.compiler.is_compiling():  # which fuses plain operations itself, and cannot look into our kernels
        return False
    fit = all(tensor.is_cuda and tensor.dtype in DTYPES for tensor in tensors)
    return fit and _installed()


@functools.cache
def _installed() -> bool:
    """Return whether Triton is there; looking for it takes longer than a short read."""
    return importlib.util.find_spec("triton") is not None


def kernel_obstacle(device: torch.device, dtype: torch.dtype, dtypes: tuple[torch.dtype, ...]) -> str | None:
    """The reason why kernels cannot run, as the end of a sentence; None if they can, be it in Triton's interpreter.

    >>> kernel_obstacle(torch.device("cpu"), torch.float64, DTYPES) is None
    False
    """
    if not _installed():
        return "needs Triton, which is not installed"
    if device.type != "cuda" and not uses_interpreter():
        return f"needs a CUDA device; got tensors on {device}"
    if dtype not in dtypes:
        *names, last = (str(one).removeprefix("torch.") for one in dtypes)
        return f"has {', '.join(names)} and {last}, not {dtype}"
    return None


def uses_interpreter() -> bool:
    """Return whether Triton interprets its kernels, with numpy on a CPU, as TRITON_INTERPRET=1 has it."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def check_kernels(
    what: str, device: torch.device, dtype: torch.dtype, dtypes: tuple[torch.dtype, ...], other: str
) -> bool:
    """Return whether Triton interprets; raises ValueError where the kernels cannot run, with what to do instead.

    `what` is a mechanism and its implementation, as in "additive: the fused implementation".
    """
    reason = kernel_obstacle(device, dtype, dtypes)
    if reason is not None:
        raise ValueError(f"{what} {reason}; {other}")
    return uses_interpreter()


def apply_first_order(what: str, function: type[torch.autograd.Function], *operands: Any) -> Any:
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


def no_double_backward(what: str) -> None:
    """Tiles are made again by hand, which autograd cannot see into: a gradient of the gradient would be wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError(f'{what} has no second derivative; use impl="reference"')


def cast_gradients(grads: tuple[Tensor | None, ...], like: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Gradients in the dtypes of what they are gradients of."""
    return tuple(None if g is None or t is None else g.to(t.dtype) for g, t in zip(grads, like, strict=True))
