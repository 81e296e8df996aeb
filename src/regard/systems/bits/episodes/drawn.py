"""A split of episodes that are drawn when they are needed."""

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
"""Episodes of one length, when all are gone through: they are measured side by side."""


@dataclass(frozen=True)
class Drawn:
    """Episodes of a task, each batch a function of its number: as many as `size` says, or without end.

    Args:
        algorithm: what they are.
        split: "train", "valid" or "test": other episodes.
        size: how many; without end if nothing is said.
        seed: another seed, other episodes.

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
        """None."""
        return ()

    def settings(self) -> str:
        """All of it."""
        return repr(self)

    def draw(self, number: int, together: int) -> Episodes:
        """The batch `number` of batches of `together` episodes; the last may have fewer."""
        count = min(together, self.size - number * together)
        return self.algorithm.draw(count, self.seed, ("train", "valid", "test").index(self.split), number)

    def optimum(self, together: int) -> float:
        """The bits that the best possible answers cost, a sequence."""
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
