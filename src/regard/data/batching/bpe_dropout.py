"""BPE-dropout: words are cut in other ways in each epoch (Provilkov et al. 2020)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, pairwise

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.batch import Collator
from regard.data.batching.corpus import Corpus
from regard.data.batching.order import splitmix64
from regard.data.fields.column import Column
from regard.data.fields.tokenizer import Tokenizer
from regard.data.problems import DataError

_WAYS = 1024  # of each word: what it is cut into is drawn from so many, each drawn once from the distribution
_KEPT = 1_000_000  # ways that are remembered
_CHANCES = 256  # that are drawn for each way; a longer word has them again
_PLACES = 2**24  # more than the words of any text
_DRAWN, _LEFT_OUT = 21, 22
_TOGETHER = 1024  # texts that are cut together


class BPEDropout:
    """Fresh segmentations of texts that are stored as ids, as a function of seed, epoch and the number of the text.

    While a word is cut, each possible merge is left out with probability `rate`, at each step anew; the first of those
    that are left, in the order they were learned, is made (Provilkov et al. 2020, algorithm 1). A word is cut in one of
    1,024 ways that are drawn so beforehand, so that frequent words are looked up.

    Args:
        tokenizer: of byte-level BPE; it is not changed, and by itself cuts without dropout.
        rate: the probability of leaving a merge out.
        seed: of all draws.
        longest: the most ids that a model has room for; a text that would be longer stays as it is. None for no limit.

    >>> bpe = Tokenizer.train(["lower lowest newer newest"] * 9, kind="bpe", size=270)
    >>> ids = bpe.encode("newest lowest")
    >>> dropout = BPEDropout(bpe, 0.5, seed=1)
    >>> cut = [dropout([ids], numbers=[0], epoch=epoch)[0] for epoch in range(2)]
    >>> cut[0] != cut[1], [bpe.decode(one) for one in cut]
    (True, ['newest lowest', 'newest lowest'])
    """

    def __init__(self, tokenizer: Tokenizer, rate: float, *, seed: int, longest: int | None = None) -> None:
        if not tokenizer.byte_level or tokenizer.kind != "bpe":
            raise DataError(f"tokenizer.dropout is for byte-level BPE; the tokenizer is of kind {tokenizer.kind!r}")
        self.tokenizer, self.rate, self.seed, self.longest = tokenizer, rate, seed, longest
        model = json.loads(tokenizer.json)["model"]
        self._numbers: dict[str, int] = model["vocab"]
        self._ranks = {tuple(pair): rank for rank, pair in enumerate(model["merges"])}
        self._begins = tokenizer.begins()
        self._special = tokenizer.special
        drawn = splitmix64(np.arange(_WAYS * _CHANCES, dtype=np.uint64), seed, _LEFT_OUT) >> np.uint64(11)
        self._chances: list[list[float]] = (drawn / 2.0**53).reshape(_WAYS, _CHANCES).tolist()
        self._words: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._ways: dict[tuple[str, int], list[int]] = {}

    def __call__(self, texts: Sequence[Sequence[int]], *, numbers: Sequence[int], epoch: int) -> list[list[int]]:
        """Other segmentations of some texts.

        Args:
            texts: the ids of each, as the tokenizer cuts it.
            numbers: of the texts; that of a text decides what is drawn for it, whatever stands beside it.
            epoch: the epoch.
        """
        parts = [[part for chunk in self._chunks(ids) for part in self._parts(chunk)] for ids in texts]
        places = [
            number * _PLACES + place for number, row in zip(numbers, parts, strict=True) for place in range(len(row))
        ]
        ways = iter((splitmix64(np.array(places, np.uint64), self.seed, epoch, _DRAWN) % np.uint64(_WAYS)).tolist())
        found = []
        for ids, row in zip(texts, parts, strict=True):
            cut: list[int] = []
            for part in row:
                way = next(ways)
                cut += [part] if isinstance(part, int) else self._way(part, way)
            found.append(cut if self.longest is None or len(cut) <= self.longest else list(ids))
        return found

    def _chunks(self, ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """Ids from one space to the next; a special one by itself."""
        begin = 0
        for end, index in enumerate(ids):
            if end > begin and (self._begins[index] or index < self._special or ids[begin] < self._special):
                yield tuple(ids[begin:end])
                begin = end
        if begin < len(ids):
            yield tuple(ids[begin:])

    def _parts(self, chunk: tuple[int, ...]) -> Sequence[str | int]:
        """The words of a chunk, which no merge reaches across, in the letters of their bytes."""
        if chunk[0] < self._special:
            return chunk
        if chunk not in self._words:
            self._words[chunk] = self.tokenizer.byte_words(chunk)
        return self._words[chunk]

    def _way(self, word: str, way: int) -> list[int]:
        """One of the ways to cut a word."""
        found = self._ways.get((word, way))
        if found is None:
            if len(self._ways) >= _KEPT:
                self._ways.clear()
            found = self._ways[word, way] = self._cut(word, way)
        return found

    def _cut(self, word: str, way: int) -> list[int]:
        chances = cycle(self._chances[way])
        pieces = list(word)
        while True:
            merges = [
                (self._ranks[pair], place)
                for place, pair in enumerate(pairwise(pieces))
                if pair in self._ranks and next(chances) >= self.rate
            ]
            if not merges:
                return [self._numbers[piece] for piece in pieces]
            _, place = min(merges)
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


def resegment(corpus: Corpus, dropouts: Mapping[str, BPEDropout], epoch: int, *, tokens: int | None = None) -> Corpus:
    """Return a corpus with the texts of some fields cut anew, as they are in an epoch.

    Args:
        corpus: the texts as they were encoded.
        dropouts: what cuts the texts of each field.
        epoch: the epoch.
        tokens: cells of a batch; an example that alone would take more stays as it is. None for no limit.
    """
    fields = {name: _rows(corpus, name, dropout, epoch) for name, dropout in dropouts.items()}
    if tokens is not None:
        cut = corpus.replaced({name: _column(rows) for name, rows in fields.items()})
        for index in np.flatnonzero(Collator(cut).lengths().sum(1) > tokens).tolist():
            for name, rows in fields.items():
                rows[index] = corpus[index][name]
    return corpus.replaced({name: _column(rows) for name, rows in fields.items()})


def _column(rows: Sequence[NDArray[np.int32]]) -> Column:
    """Return the ids of all texts as a field of tokens stores them."""
    return Column({"ids": np.concatenate([*rows, np.empty(0, np.int32)])}, {"ids": np.cumsum([0, *map(len, rows)])})


def _rows(corpus: Corpus, name: str, dropout: BPEDropout, epoch: int) -> list[NDArray[np.int32]]:
    """The ids of each text of a field."""
    ids, offsets, found = corpus.ids(name), corpus.offsets(name).tolist(), []
    for begin in range(0, len(corpus), _TOGETHER):
        numbers = range(begin, min(begin + _TOGETHER, len(corpus)))
        texts = [ids[offsets[number] : offsets[number + 1]].tolist() for number in numbers]
        found += [np.array(row, np.int32) for row in dropout(texts, numbers=numbers, epoch=epoch)]
    return found
