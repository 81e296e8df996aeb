"""Availability of Triton kernels, and helpers of hand-written gradients."""

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
    """Return whether kernels can process these tensors: on a GPU, in a supported dtype, with Triton installed.

    >>> kernels_supported(torch.ones(2))
    False
    """
    if torch.compiler.is_compiling():  # which fuses plain operations itself, and cannot look into our kernels
        return False
    fit = all(tensor.is_cuda and tensor.dtype in DTYPES for tensor in tensors)
    return fit and _installed()


@functools.cache
def _installed() -> bool:
    """Return whether Triton is installed; cached, since the lookup takes longer than a short read."""
    return importlib.util.find_spec("triton") is not None


def kernel_obstacle(device: torch.device, dtype: torch.dtype, dtypes: tuple[torch.dtype, ...]) -> str | None:
    """Return why kernels cannot run, as the end of a sentence; None if they can, also in Triton's interpreter.

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
    """Return whether Triton interprets its kernels with numpy on a CPU (TRITON_INTERPRET=1)."""
    import triton

    return bool(triton.knobs.runtime.interpret)


def check_kernels(
    what: str, device: torch.device, dtype: torch.dtype, dtypes: tuple[torch.dtype, ...], other: str
) -> bool:
    """Return whether Triton interprets; raise ValueError with advice if the kernels cannot run.

    `what` names a mechanism and its implementation: "additive: the fused implementation".
    """
    reason = kernel_obstacle(device, dtype, dtypes)
    if reason is not None:
        raise ValueError(f"{what} {reason}; {other}")
    return uses_interpreter()


def apply_first_order(what: str, function: type[torch.autograd.Function], *operands: Any) -> Any:
    """Apply an autograd function without autocast; raise under torch.func, whose transforms it does not support.

    `what` names a mechanism and its implementation: "additive: the fused implementation".
    """
    try:
        with full_precision(operands[0]):
            return function.apply(*operands)
    except RuntimeError as error:
        if "setup_context" not in str(error):
            raise
        raise RuntimeError(f'{what} cannot be transformed by torch.func; use impl="reference"') from error


def no_double_backward(what: str) -> None:
    """Raise on a second derivative: recomputed tiles are invisible to autograd, so it would be wrong."""
    if torch.is_grad_enabled():
        raise RuntimeError(f'{what} has no second derivative; use impl="reference"')


def cast_gradients(grads: tuple[Tensor | None, ...], like: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Convert gradients to the dtypes of their tensors."""
    return tuple(None if g is None or t is None else g.to(t.dtype) for g, t in zip(grads, like, strict=True))
