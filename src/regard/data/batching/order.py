"""Pseudo-random permutations by hashing, reproducible on every machine and with every NumPy version."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_INCREMENT = 0x9E3779B97F4A7C15
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))


def splitmix64(values: NDArray[np.uint64], *seeds: int) -> NDArray[np.uint64]:
    """Hash each value with the seeds by SplitMix64 (Steele, Lea and Flood 2014).

    >>> splitmix64(np.arange(3, dtype=np.uint64), 0) % np.uint64(100)
    array([45, 14, 52], dtype=uint64)
    """
    hashed = values.astype(np.uint64)
    for seed in (0, *seeds):  # in place: generated data call this for each example, where allocations dominate
        hashed += _step(seed)
        hashed ^= hashed >> _SHIFTS[0]
        hashed *= _FACTORS[0]
        hashed ^= hashed >> _SHIFTS[1]
        hashed *= _FACTORS[1]
        hashed ^= hashed >> _SHIFTS[2]
    return hashed


def permutation(count: int, *seeds: int) -> NDArray[np.int64]:
    """Return a pseudo-random permutation of 0 ... count - 1.

    >>> permutation(5, 1).tolist() == permutation(5, 1).tolist() != permutation(5, 2).tolist()
    True
    """
    return np.argsort(splitmix64(np.arange(count, dtype=np.uint64), *seeds), kind="stable")


@lru_cache(maxsize=1024)
def _step(seed: int) -> np.uint64:
    """Return the increment of a seed: its hash plus the increment of SplitMix64."""
    x = (seed + _INCREMENT) % 2**64
    for shift, factor in zip(_SHIFTS, (*_FACTORS, np.uint64(1)), strict=True):
        x = (x ^ (x >> int(shift))) * int(factor) % 2**64
    return np.uint64((x + _INCREMENT) % 2**64)
