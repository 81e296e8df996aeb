"""Random numbers as a function of seed, epoch and example, so that a resumed run is reproducible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64

T = TypeVar("T")
_BLOCK = 64  # numbers generated per call


class Dice:
    """Uniform draws from a sequence of random integers.

    Args:
        numbers: random integers below 2^64; each draw consumes one.

    >>> dice = Dice(random_numbers(7, 1))
    >>> [dice.below(6) for _ in range(5)], dice.of(("red", "green", "blue"))
    ([2, 1, 2, 5, 4], 'green')
    """

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = iter(numbers)

    def below(self, bound: int) -> int:
        """Return a random integer from 0 to `bound` - 1."""
        return next(self._numbers) % bound

    def of(self, choices: Sequence[T]) -> T:
        """Return a random element."""
        return choices[self.below(len(choices))]


def random_numbers(*seeds: int) -> Iterator[int]:
    """Yield an endless sequence of random integers below 2^64, determined by the seeds."""
    for begin in count(0, _BLOCK):
        yield from splitmix64(np.arange(begin, begin + _BLOCK, dtype=np.uint64), *seeds).tolist()


def uniform_draws(examples: Sequence[int], count: int, *seeds: int) -> NDArray[np.float64]:
    """Return `count` uniform random numbers in [0, 1) per example, [B, count].

    An example's numbers depend on its own index and on the seeds only. They do not depend on the batch that it is in,
    on the number of workers, or on what was drawn before.

    Args:
        examples: index of each example in its data set, [B].
        count: number of draws per example.
        seeds: the seed of the run, the epoch, and a constant of the caller.

    >>> together = uniform_draws([3, 7], 2, 1, 5)
    >>> together.shape, (together[1] == uniform_draws([7], 2, 1, 5)[0]).all().item()
    ((2, 2), True)
    """
    indices = np.asarray(examples, dtype=np.int64).astype(np.uint64)
    columns = [
        splitmix64(indices, *seeds, column) >> np.uint64(11) for column in range(count)
    ]  # the 53 bits of a float64 mantissa
    if not columns:
        return np.zeros((len(indices), 0))
    return np.stack(columns, axis=1) * 2.0**-53  # [B, count]
