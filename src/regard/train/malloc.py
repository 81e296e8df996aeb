"""Memory that a process keeps between two updates, or between two steps of decoding."""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of malloc.h
_MOST = 2**31 - 1


def keep() -> bool:
    """Ask the C library to keep what is freed for what comes next; whether it is one that can be asked.

    glibc maps a large tensor when it is made and unmaps it when it is freed, and the system clears the pages for the
    next one. On two cores that is a fifth of an update of a small Transformer and an eighth of a step of a beam. Here
    tensors come from the heap, of which up to 2 GiB stay with the process; the most memory that it takes was the same.

    Who has said something by `MALLOC_...` in the environment is left alone.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _MOST))
