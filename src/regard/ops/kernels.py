"""Whether Triton's kernels can be chosen."""

from __future__ import annotations

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
    fit = all(tensor.is_cuda and tensor.dtype in DTYPES for tensor in tensors)
    return fit and importlib.util.find_spec("triton") is not None
