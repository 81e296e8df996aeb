"""Made-up words of a beginning and an ending: a beginning is the question, its ending the answer."""

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
    """Some words, and how one of them begins; the label is how it ends: "balen fira gomi fi-" has the label "ra".

    All words of a text begin differently. Whoever keeps the words finds the one that is asked for; whoever has room for
    a sum of them only must have found a place for each. A text that is in one split is in no other.

    Args:
        split: "train" (80% of all texts), "valid" or "test" (10% each).
        size: how many examples.
        shortest, longest: how many words a text has before the question.
        seed: another seed, other texts.

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
        """A text with its question, and the answer."""
        dice = splitmix64(np.arange(2 + len(BEGINNINGS), dtype=np.uint64), self.seed, index, attempt).tolist()
        count = self.shortest + dice[0] % (self.longest - self.shortest + 1)
        begun = [BEGINNINGS[one] for one in permutation(len(BEGINNINGS), self.seed, index, attempt)[:count].tolist()]
        ended = [ENDINGS[roll % len(ENDINGS)] for roll in dice[2 : 2 + count]]
        asked = dice[1] % count
        words = [first + last for first, last in zip(begun, ended, strict=True)]
        return f"{' '.join(words)} {begun[asked]}-", ended[asked]
