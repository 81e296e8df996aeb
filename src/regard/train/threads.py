"""How many threads a model is trained with on the CPU."""

from __future__ import annotations

import os

import torch
from torch import nn

SMALL = 1_000_000
"""Parameters below which one thread is best."""

_ALL = torch.get_num_threads()  # as torch found the machine, before any model changed it


def choose(model: nn.Module) -> int:
    """The threads for a model: one for a small one, all that torch would take for others.

    Embeddings do not count: a batch reads a few of their rows.

    Measured on 2 cores, a training step with two threads against one. On free cores it is 0.9 to 1.2 times as fast up
    to 0.3 million parameters of recurrent layers, 1.3 to 1.4 times at 0.2 million of a Transformer, and 1.2 to 1.5
    times from 1 to 8 million of either. On cores that others use it is 2 to 25 times as slow whatever the size, since
    every operation waits, spinning, for a thread that does not run. (`OMP_WAIT_POLICY=PASSIVE` ends the spinning: at
    most 2 times as slow on such cores, but on free ones hardly faster than one thread, or slower.) So a small model has
    little to win by more threads and much to lose. The number depends on nothing that changes between two parts of a
    run, since sums are rounded by it.

    `OMP_NUM_THREADS`, which torchrun sets for each of its processes, is left as it is.

    >>> choose(nn.Linear(3, 5)) <= choose(nn.Linear(3000, 500))
    True
    """
    if "OMP_NUM_THREADS" in os.environ:
        return _ALL
    looked_up = sum(module.weight.numel() for module in model.modules() if isinstance(module, nn.Embedding))
    return 1 if sum(parameter.numel() for parameter in model.parameters()) - looked_up < SMALL else _ALL
