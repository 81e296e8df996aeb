"""BM25: lexical ranking of passages."""

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
_CHUNK = 20_000  # passages per counting step, which bounds memory


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation.

    >>> words_of("A car, for 1,200!")
    ['a', 'car', 'for', '1', '200']
    """
    return _WORD.findall(text.lower())


@dataclass(frozen=True, eq=False)
class BM25:
    r"""An inverted index with precomputed BM25 weights in its postings.

    .. math:: s(q, d) = \sum_{w \in q} \ln\Big(1 + \frac{N - n_w + 1/2}{n_w + 1/2}\Big)
              \frac{f_{wd} (k_1 + 1)}{f_{wd} + k_1 (1 - b + b\, |d| / \overline{|d|})}

    N is the number of passages and n_w the number of those that contain word w; f_wd is the frequency of w in passage d
    of length |d|. A word that occurs twice in a query counts twice.

    Attributes:
        numbers: vocabulary: the index of each word.
        offsets: [V + 1], start offset of the postings of each word.
        passages: [P], passage index of each posting, ascending per word.
        weights: [P], term of the sum for each posting.
        count: N, number of passages.

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
        """Build the index of passages.

        Args:
            texts: the passages.
            k1: saturation of term frequency; larger values saturate later, 0 counts a word once.
            b: strength of length normalisation, 0 to 1.
        """
        numbers: dict[str, int] = {}
        found = [*_counted(texts, numbers)] or [(np.zeros((0, 3), np.int64), np.zeros(0, np.int64))]
        rows, lengths = np.concatenate([one for one, _ in found]), np.concatenate([size for _, size in found])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]  # by word; a stable sort keeps passages ascending
        having = np.bincount(rows[:, 0], minlength=len(numbers))
        rarity = np.log1p((len(lengths) - having + 0.5) / (having + 0.5))
        relative = lengths[rows[:, 1]] / max(lengths.mean(), 1e-9) if len(lengths) else lengths
        weights = rarity[rows[:, 0]] * rows[:, 2] * (k1 + 1) / (rows[:, 2] + k1 * (1 - b + b * relative))
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(having)])
        return cls(numbers, offsets, rows[:, 1].astype(np.int32), weights.astype(np.float32), len(lengths))

    def rank(self, query: str, k: int) -> Ranking:
        """Return the k passages with the largest scores, without those that share no word with the query."""
        scores = np.zeros(self.count, np.float32)
        for word in words_of(query):
            if (number := self.numbers.get(word)) is not None:
                part = slice(self.offsets[number], self.offsets[number + 1])
                scores[self.passages[part]] += self.weights[part]  # each index occurs once per word, so += is safe
        having = np.flatnonzero(scores)
        return Ranking.best(having, scores[having], k)


def _counted(texts: Iterable[str], numbers: dict[str, int]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield rows (word, passage, frequency) [P, 3] and passage lengths per chunk; new words are added to `numbers`."""
    stream, begin = iter(texts), 0
    while chunk := list(islice(stream, _CHUNK)):
        ids: Sequence[list[int]] = [[numbers.setdefault(word, len(numbers)) for word in words_of(one)] for one in chunk]
        lengths = np.array([len(row) for row in ids], np.int64)
        owners = np.repeat(np.arange(len(chunk)), lengths)
        flat = np.fromiter((number for row in ids for number in row), np.int64, int(lengths.sum()))
        keys, counts = np.unique(flat * len(chunk) + owners, return_counts=True)
        yield np.stack([keys // len(chunk), keys % len(chunk) + begin, counts], axis=1), lengths
        begin += len(chunk)
