"""How many threads a model is trained with on the CPU."""

from __future__ import annotations

import os

import torch

SMALL = 1_000_000
"""Parameters below which one thread is best."""

_ALL = torch.get_num_threads()  # as torch found the machine, before any model changed it


def choose(parameters: int) -> int:
    """The threads for a model of so many parameters: one for a small model, all that torch would take for others.

    Measured on 2 cores, a training step with two threads against one. On free cores it is 0.9 to 1.2 times as fast up
    to 0.3 million parameters of recurrent layers, 1.3 to 1.4 times at 0.2 million of a Transformer, and 1.2 to 1.5
    times from 1 to 8 million of either. On cores that others use it is 2 to 25 times as slow whatever the size, since
    every operation waits, spinning, for a thread that does not run. (`OMP_WAIT_POLICY=PASSIVE` ends the spinning: at
    most 2 times as slow on such cores, but on free ones hardly faster than one thread, or slower.) So a small model has
    little to win by more threads and much to lose. The number depends on nothing that changes between two parts of a
    run, since sums are rounded by it.

    `OMP_NUM_THREADS`, which torchrun sets for each of its processes, is left as it is.

    >>> choose(260_000) <= choose(10_000_000)
    True
    """
    return 1 if parameters < SMALL and "OMP_NUM_THREADS" not in os.environ else _ALL
