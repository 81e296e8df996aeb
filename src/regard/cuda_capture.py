"""CUDA-graph capture: a flag for code whose control flow would depend on tensor values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_recording: ContextVar[bool] = ContextVar("recording", default=False)


@contextmanager
def recording() -> Iterator[None]:
    """Mark a capture: inside, no code reads tensor values on the host; lengths stay on the device, padding is computed.

    Results equal those outside of a capture up to rounding.

    >>> with recording():
    ...     is_recording()
    True
    >>> is_recording()
    False
    """
    token = _recording.set(True)
    try:
        yield
    finally:
        _recording.reset(token)


def is_recording() -> bool:
    """Return True inside `recording`, and when traced by `torch.compile` or `torch.export`."""
    return torch.compiler.is_compiling() or _recording.get()
