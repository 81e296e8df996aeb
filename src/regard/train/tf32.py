"""How exactly a GPU multiplies float32 matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def rounded_products(device: torch.device, *, allowed: bool) -> Iterator[None]:
    """Inside, if `allowed`, the tensor cores of a GPU may round the factors of float32 products to TF32 (11 bits).

    >>> with rounded_products(torch.device("cpu"), allowed=True):
    ...     torch.get_float32_matmul_precision()
    'highest'
    """
    before = torch.get_float32_matmul_precision()
    if allowed and device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
