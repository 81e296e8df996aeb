"""Whether what runs now is being recorded, to be replayed later with other numbers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

_recording: ContextVar[bool] = ContextVar("recording", default=False)


@contextmanager
def recording() -> Iterator[None]:
    """Inside, nothing may depend on numbers that lie on the device: lengths stay there, and padding is computed too.

    What comes out is the same up to rounding.

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
    """Whether this runs inside `recording`, or is traced by `torch.compile` or `torch.export`."""
    return torch.compiler.is_compiling() or _recording.get()
