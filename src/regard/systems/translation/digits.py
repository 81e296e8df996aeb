"""Toy tasks on digits: copy, reverse, sort."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError

_TASKS: dict[str, Callable[[list[str]], list[str]]] = {
    "copy": list,
    "reverse": lambda digits: digits[::-1],
    "sort": sorted,
}


@dataclass(frozen=True)
class Digits(Generated):
    """Sequences of digits to copy, reverse or sort, disjoint between splits.

    Args:
        task: "copy", "reverse" or "sort".
        split: "train" (80% of all rows), "valid" or "test" (10% each).
        size: number of examples.
        shortest, longest: minimum and maximum length.
        seed: random seed of the examples; it does not change the split of a row.

    >>> [example.fields for example in Digits("sort", size=1, shortest=4)]
    [{'source': '7 9 8 7 5 7 8 9 8 3', 'target': '3 5 7 7 7 8 8 8 9 9'}]
    """

    task: Literal["copy", "reverse", "sort"]
    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=3, kw_only=True)
    longest: int = field(default=10, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.task not in _TASKS:
            raise DataError(f"there is no task {self.task!r} on digits; there are {', '.join(_TASKS)}")
        self.check_split()
        if not 3 <= self.shortest <= self.longest:
            raise DataError(f"lengths from {self.shortest} to {self.longest}: 3 <= shortest <= longest")

    def example(self, index: int) -> Example:
        digits = self._row(index)
        answer = _TASKS[self.task](digits)
        return Example({"source": " ".join(digits), "target": " ".join(answer)}, self.where(index))

    def _row(self, index: int) -> list[str]:
        """The first of the rows drawn for this number that belongs to the split."""
        places = np.arange(self.longest + 1, dtype=np.uint64)
        attempt = 0
        while True:
            length, *drawn = splitmix64(places, self.seed, index, attempt).tolist()
            digits = [str(value % 10) for value in drawn[: self.shortest + length % (self.longest - self.shortest + 1)]]
            if self.is_here(" ".join(digits)):
                return digits
            attempt += 1
