"""Settings of a process that computes on a CPU: number of threads, and reuse of freed memory."""

from __future__ import annotations

import ctypes
import os
import sys

import torch
from torch import nn

SMALL = 1_000_000
"""Number of parameters below which one thread is best."""

_ALL = torch.get_num_threads()  # the default of torch, before any model changed it
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of malloc.h
_MOST = 2**31 - 1


def tune_cpu(model: nn.Module) -> None:
    """Set the number of threads for a model, and have the C library reuse freed memory."""
    torch.set_num_threads(threads_for(model))
    reuse_freed_memory()


def tune_cpu_for_answers(model: nn.Module) -> None:
    """`tune_cpu` with no more threads than there are free cores now.

    An answer may be rounded in another way than the last time, so here the number of threads may depend on what others
    compute. Measured on 2 cores with a load of 26, three searches for 8 sentences by a Transformer: 40 and 59 seconds
    with two threads, 7.5 and 9.5 of them of the processor; 2.9 and 1.6 seconds with one.
    """
    tune_cpu(model)
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(threads_for(model), free_cores()))


def free_cores() -> int:
    """Return the number of cores that were free in the last minute, at least 1."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, round((os.cpu_count() or 1) - load))


def threads_for(model: nn.Module) -> int:
    """Return the number of threads for a model: one for a small one, the default of torch for others.

    Embeddings do not count: a batch reads a few of their rows.

    Measured on 2 cores, a training step with two threads against one. On free cores it is 0.9 to 1.2 times as fast up
    to 0.3 million parameters of recurrent layers, 1.3 to 1.4 times at 0.2 million of a Transformer, and 1.2 to 1.5
    times from 1 to 8 million of either. On cores that others use it is 2 to 25 times as slow whatever the size, since
    every operation waits, spinning, for a thread that does not run. (`OMP_WAIT_POLICY=PASSIVE` ends the spinning: at
    most 2 times as slow on such cores, but on free ones hardly faster than one thread, or slower.) So a small model has
    little to gain from more threads and much to lose. The number depends on nothing that changes between two parts of a
    run, since rounding of sums depends on it.

    `OMP_NUM_THREADS`, which torchrun sets for each of its processes, takes precedence.

    >>> threads_for(nn.Linear(3, 5)) <= threads_for(nn.Linear(3000, 500))
    True
    """
    if "OMP_NUM_THREADS" in os.environ:
        return _ALL
    embedded = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding))
    return 1 if sum(parameter.numel() for parameter in model.parameters()) - embedded < SMALL else _ALL


def reuse_freed_memory() -> bool:
    """Have glibc keep freed memory for the next tensors; return False for another C library.

    glibc maps a large tensor when it is made and unmaps it when it is freed, and the system clears the pages for the
    next one. On two cores that is a fifth of an update of a small Transformer and an eighth of a step of a beam. Here
    tensors come from the heap, of which up to 2 GiB stay with the process; peak memory was the same.

    Does nothing if a variable `MALLOC_*` is set.
    """
    if sys.platform != "linux" or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(_MMAP_MAX, 0)) and bool(mallopt(_TRIM_THRESHOLD, _MOST))
