"""BPE-dropout: random segmentation of words in each epoch (Provilkov et al. 2020)."""

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

_WAYS = 1024  # segmentations sampled per word; each occurrence of the word uses one of them
_KEPT = 1_000_000  # size of the cache of segmentations
_CHANCES = 256  # random numbers per segmentation; reused cyclically if a word needs more
_PLACES = 2**24  # more than the words of any text, so that (text, word) pairs have distinct numbers
_DRAWN, _LEFT_OUT = 21, 22
_TOGETHER = 1024  # texts segmented per call


class BPEDropout:
    """Random segmentations of texts stored as ids, as a function of seed, epoch and index of the text.

    At each merge step every possible merge is dropped with probability `rate`, and the remaining one of highest
    priority is applied (Provilkov et al. 2020, algorithm 1). Each word has 1,024 possible segmentations, sampled in
    this way and cached, so that frequent words need only a lookup.

    Args:
        tokenizer: a byte-level BPE tokenizer; it is not modified and itself segments without dropout.
        rate: the probability of dropping a merge.
        seed: the random seed.
        longest: maximum number of ids that the model accepts; a text whose new segmentation is longer keeps the
            original one. None for no limit.

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
        """Return random segmentations of some texts.

        Args:
            texts: the ids of each text, as segmented by the tokenizer.
            numbers: index of each text; its segmentation depends on this index and not on the other texts of the call.
            epoch: the epoch.
        """
        parts = [[part for chunk in self._chunks(ids) for part in self._parts(chunk)] for ids in texts]
        # A distinct number per word occurrence: its hash selects the segmentation, independently of the other texts.
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
        """Yield the ids between spaces as chunks; special ids are chunks by themselves."""
        begin = 0
        for end, index in enumerate(ids):
            if end > begin and (self._begins[index] or index < self._special or ids[begin] < self._special):
                yield tuple(ids[begin:end])
                begin = end
        if begin < len(ids):
            yield tuple(ids[begin:])

    def _parts(self, chunk: tuple[int, ...]) -> Sequence[str | int]:
        """Return the words of a chunk, in the byte alphabet; merges do not cross word boundaries."""
        if chunk[0] < self._special:
            return chunk
        if chunk not in self._words:
            self._words[chunk] = self.tokenizer.byte_words(chunk)
        return self._words[chunk]

    def _way(self, word: str, way: int) -> list[int]:
        """Return the segmentation of a word with the given index, from the cache if possible."""
        found = self._ways.get((word, way))
        if found is None:
            if len(self._ways) >= _KEPT:
                self._ways.clear()  # the simplest eviction: frequent words return quickly
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
            _, place = min(merges)  # highest priority first, then leftmost
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]


def resegment(corpus: Corpus, dropouts: Mapping[str, BPEDropout], epoch: int, *, tokens: int | None = None) -> Corpus:
    """Return a corpus in which the texts of some fields are segmented randomly for an epoch.

    Args:
        corpus: the texts in their original segmentation.
        dropouts: the BPE-dropout of each field.
        epoch: the epoch.
        tokens: budget of a batch in cells; an example that would exceed it by itself keeps its original segmentation.
            None for no limit.
    """
    fields = {name: _rows(corpus, name, dropout, epoch) for name, dropout in dropouts.items()}
    if tokens is not None:
        cut = corpus.replaced({name: _column(rows) for name, rows in fields.items()})
        for index in np.flatnonzero(Collator(cut).lengths().sum(1) > tokens).tolist():
            for name, rows in fields.items():
                rows[index] = corpus[index][name]
    return corpus.replaced({name: _column(rows) for name, rows in fields.items()})


def _column(rows: Sequence[NDArray[np.int32]]) -> Column:
    """Return the ids of all texts as the column of a token field."""
    # The empty array lets `concatenate` accept a corpus without texts.
    return Column({"ids": np.concatenate([*rows, np.empty(0, np.int32)])}, {"ids": np.cumsum([0, *map(len, rows)])})


def _rows(corpus: Corpus, name: str, dropout: BPEDropout, epoch: int) -> list[NDArray[np.int32]]:
    """Return the newly segmented ids of each text of a field."""
    ids, offsets, found = corpus.ids(name), corpus.offsets(name).tolist(), []
    for begin in range(0, len(corpus), _TOGETHER):
        numbers = range(begin, min(begin + _TOGETHER, len(corpus)))
        texts = [ids[offsets[number] : offsets[number + 1]].tolist() for number in numbers]
        found += [np.array(row, np.int32) for row in dropout(texts, numbers=numbers, epoch=epoch)]
    return found
