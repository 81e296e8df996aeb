"""Split of generated episodes, drawn on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.example import Example, Value
from regard.data.generated import ENDLESS
from regard.data.hash_split import Part
from regard.data.problems import SkippedLines
from regard.systems.bits.episodes.algorithm import Algorithm
from regard.systems.bits.episodes.episodes import Episodes

TOGETHER = 16
"""Batch size of episodes of equal length when a whole split is evaluated."""


@dataclass(frozen=True)
class Drawn:
    """Split of episodes of a task; each batch is a deterministic function of its number.

    Args:
        algorithm: task that draws the episodes.
        split: "train", "valid" or "test"; part of the random seed.
        size: number of episodes; unlimited by default.
        seed: random seed.

    >>> from regard.systems.bits.episodes import Copy
    >>> [example.fields for example in Drawn(Copy(bits=2, longest=3), "valid", size=1)]
    [{'source': '01', 'target': '01'}]
    """

    algorithm: Algorithm
    split: Part = "train"
    size: int = ENDLESS
    seed: int = 0
    skipped: SkippedLines = field(default_factory=SkippedLines, init=False, repr=False, compare=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """Return no files: the data is generated."""
        return ()

    def settings(self) -> str:
        """Return the settings that determine the episodes, as text."""
        return repr(self)

    def draw(self, number: int, together: int) -> Episodes:
        """Draw batch `number` of `together` episodes; the last batch may be smaller."""
        count = min(together, self.size - number * together)
        return self.algorithm.draw(count, self.seed, ("train", "valid", "test").index(self.split), number)

    def optimum(self, together: int) -> float:
        """Return the lowest possible cost in bits per sequence."""
        batches = range(-(-self.size // together))
        return sum(self.algorithm.optimum(self.draw(number, together)) for number in batches) / self.size

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Example]:
        task = self.algorithm
        for number in range(-(-self.size // TOGETHER)):
            episodes = self.draw(number, TOGETHER)
            rows = zip(episodes.inputs, episodes.targets, episodes.asked, strict=True)
            for place, (inputs, targets, asked) in enumerate(rows, start=number * TOGETHER):
                texts: dict[str, Value] = {"source": task.question(inputs), "target": task.answer(targets, asked)}
                yield Example(texts, f"{type(task).__name__}.{self.split}:{place}")
