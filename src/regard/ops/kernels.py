"""Whether Triton's kernels can be chosen, or asked for by name."""

from __future__ import annotations

import functools
import importlib.util

import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
"""What the kernels read."""


def runnable(*tensors: Tensor) -> bool:
    """Whether kernels can read all of these here: on a GPU, in a dtype they have, where Triton is installed.

    >>> runnable(torch.ones(2))
    False
    """
    if torch.compiler.is_compiling():  # which fuses plain operations itself, and cannot look into our kernels
        return False
    fit = all(tensor.is_cuda and tensor.dtype in DTYPES for tensor in tensors)
    return fit and _installed()


@functools.cache
def _installed() -> bool:
    """Whether Triton is there; looking for it takes longer than a short read."""
    return importlib.util.find_spec("triton") is not None


def check_kernels(
    what: str, device: torch.device, dtype: torch.dtype, dtypes: tuple[torch.dtype, ...], other: str
) -> bool:
    """Whether Triton interprets; one clear sentence where the kernels cannot run, with what to do instead.

    `what` is a mechanism and its implementation, as in "additive: the fused implementation".
    """
    try:
        import triton
    except ImportError:
        raise ValueError(f"{what} needs Triton, which is not installed; {other}") from None
    interpreted = bool(triton.knobs.runtime.interpret)
    if device.type != "cuda" and not interpreted:
        raise ValueError(f"{what} needs a CUDA device; got tensors on {device}; {other}")
    if dtype not in dtypes:
        *names, last = (str(one).removeprefix("torch.") for one in dtypes)
        raise ValueError(f"{what} has {', '.join(names)} and {last}, not {dtype}; {other}")
    return interpreted
