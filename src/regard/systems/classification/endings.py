"""Generated recall task on made-up words: the query is the beginning of a word, the label its ending."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

import numpy as np

from regard.data.batching.order import permutation, splitmix64
from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError

BEGINNINGS = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te")
ENDINGS = ("ra", "len", "mi", "dos", "tun", "va", "kel", "zi")


@dataclass(frozen=True)
class Endings(Generated):
    """Generated lists of words and the beginning of one of them: "balen fira gomi fi-" has the label "ra", its ending.

    All words of a text have different beginnings. A model that can attend to single words finds the queried one. A
    model with a single pooled vector must store all of them in it. Splits share no texts.

    Args:
        split: "train" (80% of all texts), "valid" or "test" (10% each).
        size: number of examples.
        shortest, longest: smallest and largest number of words before the query.
        seed: random seed of the texts.

    >>> [example.fields for example in Endings(size=1)]
    [{'text': 'golen sami bava kudos pozi lakel filen metun sa-', 'label': 'mi'}]
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    shortest: int = field(default=2, kw_only=True)
    longest: int = field(default=8, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.shortest <= self.longest <= len(BEGINNINGS):
            raise DataError(
                f"texts of {self.shortest} to {self.longest} words: 1 <= shortest <= longest <= {len(BEGINNINGS)}, "
                "since all words of a text begin differently"
            )

    def example(self, index: int) -> Example:
        text, label = self.first_here(partial(self._drawn, index), itemgetter(0))
        return Example({"text": text, "label": label}, self.where(index))

    def _drawn(self, index: int, attempt: int) -> tuple[str, str]:
        """Draw a text with its query, and the label."""
        dice = splitmix64(np.arange(2 + len(BEGINNINGS), dtype=np.uint64), self.seed, index, attempt).tolist()
        count = self.shortest + dice[0] % (self.longest - self.shortest + 1)
        begun = [BEGINNINGS[one] for one in permutation(len(BEGINNINGS), self.seed, index, attempt)[:count].tolist()]
        ended = [ENDINGS[roll % len(ENDINGS)] for roll in dice[2 : 2 + count]]
        asked = dice[1] % count
        words = [first + last for first, last in zip(begun, ended, strict=True)]
        return f"{' '.join(words)} {begun[asked]}-", ended[asked]
