"""Random numbers as a function of seed, epoch and example: a resumed run draws what the first run drew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64

T = TypeVar("T")
_BLOCK = 64  # numbers that are drawn together


class Dice:
    """Even draws, one after the other, from whole numbers.

    Args:
        numbers: each below 2^64, one per draw.

    >>> dice = Dice(random_numbers(7, 1))
    >>> [dice.below(6) for _ in range(5)], dice.of(("red", "green", "blue"))
    ([2, 1, 2, 5, 4], 'green')
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound` - 1."""
        return next(self._numbers) % bound

    def of(self, choices: Sequence[T]) -> T:
        """Return one of several."""
        return choices[self.below(len(choices))]


def random_numbers(*seeds: int) -> Iterator[int]:
    """Yield whole numbers below 2^64 without end, a function of the seeds."""
    for begin in count(0, _BLOCK):
        yield from splitmix64(np.arange(begin, begin + _BLOCK, dtype=np.uint64), *seeds).tolist()


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
