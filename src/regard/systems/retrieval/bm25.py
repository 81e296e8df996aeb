"""BM25: passages ranked by the words that they share with a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from regard.systems.retrieval.ranking import Ranking

K1, B = 1.2, 0.75
_WORD = re.compile(r"\w+")
_CHUNK = 20_000  # passages whose words are counted at once


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    >>> words_of("A car, for 1,200!")
    ['a', 'car', 'for', '1', '200']
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class BM25:
    r"""An inverted index whose postings hold the weight of a word in a passage.

    .. math:: s(q, d) = \sum_{w \in q} \ln\Big(1 + \frac{N - n_w + 1/2}{n_w + 1/2}\Big)
              \frac{f_{wd} (k_1 + 1)}{f_{wd} + k_1 (1 - b + b\, |d| / \overline{|d|})}

    N passages, n_w of which have the word w, f_wd times in passage d of |d| words. A word that stands twice in a query
    counts twice.

    Attributes:
        numbers: the number of each word.
        offsets: [V + 1], where the postings of each word begin.
        passages: [P], the passage of each posting; those of a word ascend.
        weights: [P], its term of the sum.
        count: N.

    Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework", equation 3.15; the 1 inside the logarithm, which
    keeps the weight of frequent words above 0, is that of Lucene.

    >>> index = BM25.of(["a red car", "a blue car", "a boat"])
    >>> index.rank("the red car", 3)
    Ranking(numbers=array([0, 1]), scores=array([1.3802518 , 0.44713858], dtype=float32))
    """

    numbers: Mapping[str, int]
    offsets: NDArray[np.int64]
    passages: NDArray[np.int32]
    weights: NDArray[np.float32]
    count: int

    @classmethod
    def of(cls, texts: Iterable[str], *, k1: float = K1, b: float = B) -> BM25:
        """Count the words of passages.

        Args:
            texts: the passages.
            k1: how slowly repetitions of a word saturate; 0 counts a word once.
            b: how much the length of a passage counts, 0 to 1.
        """
        numbers: dict[str, int] = {}
        found = [*_counted(texts, numbers)] or [(np.zeros((0, 3), np.int64), np.zeros(0, np.int64))]
        rows, lengths = np.concatenate([one for one, _ in found]), np.concatenate([size for _, size in found])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]  # by word; passages ascend already
        having = np.bincount(rows[:, 0], minlength=len(numbers))
        rarity = np.log1p((len(lengths) - having + 0.5) / (having + 0.5))
        relative = lengths[rows[:, 1]] / max(lengths.mean(), 1e-9) if len(lengths) else lengths
        weights = rarity[rows[:, 0]] * rows[:, 2] * (k1 + 1) / (rows[:, 2] + k1 * (1 - b + b * relative))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(having)])
        return cls(numbers, offsets, rows[:, 1].astype(np.int32), weights.astype(np.float32), len(lengths))

    def rank(self, query: str, k: int) -> Ranking:
        """Return the k passages with the largest scores; those without a word of the query are left out."""
        scores = np.zeros(self.count, np.float32)
        for word in words_of(query):
            if (number := self.numbers.get(word)) is not None:
                part = slice(self.offsets[number], self.offsets[number + 1])
                scores[self.passages[part]] += self.weights[part]  # a passage stands once among the postings of a word
        having = np.flatnonzero(scores)
        return Ranking.best(having, scores[having], k)


def _counted(texts: Iterable[str], numbers: dict[str, int]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield rows (word, passage, occurrences) [P, 3] of some passages and their lengths; new words get numbers."""
    stream, begin = iter(texts), 0
    while chunk := list(islice(stream, _CHUNK)):
        ids: Sequence[list[int]] = [[numbers.setdefault(word, len(numbers)) for word in words_of(one)] for one in chunk]
        lengths = np.array([len(row) for row in ids], np.int64)
        owners = np.repeat(np.arange(len(chunk)), lengths)
        flat = np.fromiter((number for row in ids for number in row), np.int64, int(lengths.sum()))
        keys, counts = np.unique(flat * len(chunk) + owners, return_counts=True)
        yield np.stack([keys // len(chunk), keys % len(chunk) + begin, counts], axis=1), lengths
        begin += len(chunk)
