"""Generated opinions in made-up adjectives, for pretraining on unlabelled text and training on few labels."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from regard.data.batching.order import splitmix64
from regard.data.example import Example
from regard.data.generated import SYLLABLES, Generated, adjectives
from regard.data.hash_split import Part
from regard.data.problems import DataError

_THINGS = ("book", "concert", "film", "garden", "hotel", "meal", "song", "walk")
_BEFORE = ("", "", "", "very ", "quite ", "so ")
_BETWEEN = (" , ", " and ")


@dataclass(frozen=True)
class Opinions(Generated):
    """Generated sentences with the label "good" or "bad": "the hotel was duma and quite lifi".

    Only co-occurrence reveals the meaning of an adjective: those of one sentence are all positive or all negative. A
    model pretrained on many unlabelled sentences learns which adjectives co-occur, and needs few labels. Splits share
    no sentences.

    Args:
        split: "train" (80% of all sentences), "valid" or "test" (10% each).
        size: number of examples.
        words: number of positive adjectives, and of negative ones.
        pairs: generate two sentences per example, "text" and "second", with the label "agree" or "differ".
        labelled: include the labels.
        seed: random seed of the sentences; words and their meanings do not depend on it.

    >>> [example.fields for example in Opinions(size=1)]
    [{'text': 'the concert was very pazo and quite vevi , nopi', 'label': 'bad'}]
    """

    split: Part = "train"
    size: int = field(default=1000, kw_only=True)
    words: int = field(default=40, kw_only=True)
    pairs: bool = field(default=False, kw_only=True)
    labelled: bool = field(default=True, kw_only=True)
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if not 1 <= self.words <= len(SYLLABLES) ** 2 // 2:
            raise DataError(f"there are 1 to {len(SYLLABLES) ** 2 // 2} adjectives of each kind, not {self.words}")

    def example(self, index: int) -> Example:
        where = self.where(index)
        if self.pairs:
            (text, good), (second, other) = self._sentence(2 * index), self._sentence(2 * index + 1)
            label = {"label": "agree" if good == other else "differ"} if self.labelled else {}
            return Example({"text": text, "second": second, **label}, where)
        text, good = self._sentence(index)
        label = {"label": "good" if good else "bad"} if self.labelled else {}
        return Example({"text": text, **label}, where)

    def _sentence(self, index: int) -> tuple[str, bool]:
        """Draw a sentence of this split; True if it is positive."""
        attempt = 0
        while True:
            text, good = self._drawn(index, attempt)
            if self.is_here(text):
                return text, good
            attempt += 1

    def _drawn(self, index: int, attempt: int) -> tuple[str, bool]:
        """Draw a sentence; True if it is positive."""
        label, thing, count, *rest = splitmix64(np.arange(18, dtype=np.uint64), self.seed, index, attempt).tolist()
        good, lexicon = label % 2 == 0, adjectives()
        parts: list[str] = []
        for place in range(2 + count % 4):
            between = _BETWEEN[rest[3 * place] % len(_BETWEEN)] if place else ""
            before = _BEFORE[rest[3 * place + 1] % len(_BEFORE)]
            parts.append(between + before + lexicon[2 * (rest[3 * place + 2] % self.words) + good])
        return f"the {_THINGS[thing % len(_THINGS)]} was {''.join(parts)}", good
