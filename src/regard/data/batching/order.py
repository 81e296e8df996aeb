"""Orders that look random and are a function of their seeds, the same on every machine and with every NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def splitmix64(values: NDArray[np.uint64], *seeds: int) -> NDArray[np.uint64]:
    """Each value hashed with the seeds, by SplitMix64 (Steele, Lea and Flood 2014).

    >>> splitmix64(np.arange(3, dtype=np.uint64), 0) % np.uint64(100)
    array([45, 14, 52], dtype=uint64)
    """
    hashed = values.astype(np.uint64)
    for seed in (0, *seeds):
        hashed = _finalised(hashed + _finalised(np.array([seed % 2**64], np.uint64)))
    return hashed


def permutation(count: int, *seeds: int) -> NDArray[np.int64]:
    """A random order of 0 ... count - 1.

    >>> permutation(5, 1).tolist() == permutation(5, 1).tolist() != permutation(5, 2).tolist()
    True
    """
    return np.argsort(splitmix64(np.arange(count, dtype=np.uint64), *seeds), kind="stable")


def _finalised(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
