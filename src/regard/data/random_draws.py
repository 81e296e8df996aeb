"""Random numbers as a function of seed, epoch and example: a resumed run draws what the first run drew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64


def uniform_draws(examples: Sequence[int], count: int, *seeds: int) -> NDArray[np.float64]:
    """Numbers in [0, 1), `count` for each example, [B, count].

    An example's numbers depend on its own index and on the seeds only. They do not depend on the batch that it is in,
    on the number of workers, or on what was drawn before.

    Args:
        examples: [B], the index of each example in its data set.
        count: how many numbers each example gets.
        seeds: the seed of the run, the epoch, and a constant of whoever draws.

    >>> together = uniform_draws([3, 7], 2, 1, 5)
    >>> together.shape, (together[1] == uniform_draws([7], 2, 1, 5)[0]).all().item()
    ((2, 2), True)
    """
    indices = np.asarray(examples, dtype=np.int64).astype(np.uint64)
    columns = [
        splitmix64(indices, *seeds, column) >> np.uint64(11) for column in range(count)
    ]  # 53 bits, as a float64 has
    if not columns:
        return np.zeros((len(indices), 0))
    return np.stack(columns, axis=1) * 2.0**-53  # [B, count]
