"""Generated reviews of many sentences, one of which determines the label."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import Generated, adjectives
from regard.data.hash_split import Part
from regard.data.problems import DataError

_THINGS = ("bar", "bed", "breakfast", "garden", "lift", "pool", "porter", "view")
_VERDICTS = ("all in all", "in the end", "on the whole")
_DEGREES = ("", "quite ", "so ", "very ")
_DRAWS = 4  # random draws per sentence


@dataclass(frozen=True)
class Verdicts(Generated):
    """Generated reviews with positive and negative sentences, one of which gives the overall verdict and the label.

    "the bed was very noro . on the whole the hotel was zada . the pool was duma .": adjectives are positive or
    negative. The adjective of the sentence about the hotel determines the label, "good" or "bad". Nothing else in a
    review depends on the label, and only labels reveal the meaning of an adjective.

    Args:
        split: "train" (80% of all reviews), "valid" or "test" (10% each).
        size: number of examples.
        words: number of positive adjectives, and of negative ones.
        shortest, longest: smallest and largest number of sentences.
        seed: random seed of the reviews; the meanings of words do not depend on it.

    >>> example = Verdicts(shortest=3, longest=3)[0]
    >>> example.fields["text"], example.fields["label"]
    ('the bed was so lifi . the view was so fafi . in the end the hotel was so tole .', 'bad')
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    words: int = field(default=30, kw_only=True)
    shortest: int = field(default=6, kw_only=True)
    longest: int = field(default=20, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.words <= len(adjectives()) // 2:
            raise DataError(f"there are 1 to {len(adjectives()) // 2} adjectives of each kind, not {self.words}")
        if not 1 <= self.shortest <= self.longest:
            raise DataError(f"reviews of {self.shortest} to {self.longest} sentences: 1 <= shortest <= longest")

    def example(self, index: int) -> Example:
        text, good = self.first_here(partial(self._drawn, index), itemgetter(0))
        return Example({"text": text, "label": "good" if good else "bad"}, self.where(index))

    def _drawn(self, index: int, attempt: int) -> tuple[str, bool]:
        """Draw a review; True if its verdict is positive."""
        drawn = splitmix64(np.arange(2 + _DRAWS * self.longest, dtype=np.uint64), self.seed, index, attempt).tolist()
        count = self.shortest + drawn[0] % (self.longest - self.shortest + 1)
        verdict, good, sentences = drawn[1] % count, False, []
        for number in range(count):
            subject, degree, praises, word = drawn[2 + _DRAWS * number : 2 + _DRAWS * (number + 1)]
            about = f"the {_THINGS[subject % len(_THINGS)]}"
            if number == verdict:
                about, good = f"{_VERDICTS[subject % len(_VERDICTS)]} the hotel", praises % 2 == 1
            adjective = adjectives()[2 * (word % self.words) + praises % 2]
            sentences.append(f"{about} was {_DEGREES[degree % len(_DEGREES)]}{adjective} .")
        return " ".join(sentences), good
