"""Feeds of the training loop: batches of examples, or windows of one long text."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data import Batch, Batches, Collator, Corpus, DataError, Stream
from regard.data.batching.bpe_dropout import BPEDropout, resegment


class BatchPosition(NamedTuple):
    """Position of a batch in a run."""

    epoch: int
    position: int


class Feed(abc.ABC):
    """Batches as a function of epoch and position, each sharded among the processes of a run.

    Attributes:
        per_epoch: number of batches in the first epoch.
        dropped: number of examples that exceed the budget of a batch.
    """

    per_epoch: int
    dropped: int = 0

    @property
    def unwrapped(self) -> Feed:
        """The innermost feed, without wrappers such as augmentation."""
        return self

    def after(self, epoch: int, position: int) -> Iterator[BatchPosition]:
        """Yield the positions from here onwards, without end; by default all epochs have the same number of batches."""
        while True:
            for number in range(position, self.per_epoch):
                yield BatchPosition(epoch, number)
            epoch, position = epoch + 1, 0

    @abc.abstractmethod
    def tokens(self, place: BatchPosition) -> int:
        """Return the number of target tokens of the batch at a position, over all processes."""

    @abc.abstractmethod
    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        """Return the shard of the batch at a position for process `rank` of `world`."""

    @abc.abstractmethod
    def __str__(self) -> str:
        """Describe the feed in one clause, for the log."""


class WrappedFeed(Feed):
    """Base of feeds that transform the batches of another feed; a subclass overrides `batch`.

    Args:
        inner: the other feed.
    """

    def __init__(self, inner: Feed) -> None:
        self.inner = inner
        self.per_epoch, self.dropped = inner.per_epoch, inner.dropped

    @property
    def unwrapped(self) -> Feed:
        return self.inner.unwrapped

    def after(self, epoch: int, position: int) -> Iterator[BatchPosition]:
        return self.inner.after(epoch, position)

    def tokens(self, place: BatchPosition) -> int:
        return self.inner.tokens(place)


class _Planned(NamedTuple):
    """Plan of an epoch: its collator, its batches, and the number of target tokens of each example."""

    collate: Collator
    batches: Batches
    counts: NDArray[np.int64]


class ExampleFeed(Feed):
    """Batches of examples of similar length, shuffled in each epoch.

    Args:
        corpus: the examples.
        counted: the field whose tokens are counted as targets.
        tokens, sentences, seed, shuffle, pool, weights: as in `Batches`; an example that exceeds the budget is dropped.
        dropouts: BPE-dropout per field: each epoch has new segmentations, and its batches are planned by their lengths.
    """

    def __init__(
        self,
        corpus: Corpus,
        *,
        counted: str,
        tokens: int | None,
        sentences: int | None,
        seed: int = 0,
        shuffle: bool = True,
        pool: int | None = 16384,
        weights: NDArray[np.float64] | None = None,
        dropouts: Mapping[str, BPEDropout] | None = None,
    ) -> None:
        def planned(corpus: Corpus) -> _Planned:
            collate = Collator(corpus, counted=counted)
            batches = Batches(
                collate.lengths(),
                tokens=tokens,
                sentences=sentences,
                seed=seed,
                pool=pool,
                shuffle=shuffle,
                overlong="drop",
                weights=weights,
            )
            return _Planned(collate, batches, corpus.counts(counted))

        self.dropouts = dropouts or {}
        self._cut: Callable[[int], _Planned] = lambda epoch: planned(
            resegment(corpus, self.dropouts, epoch, tokens=tokens)
        )
        # Only the last plan is cached: with dropout it contains a whole corpus in memory.
        self._last = (0, self._cut(0) if self.dropouts else planned(corpus))
        self.collate, self.batches = self._last[1].collate, self._last[1].batches
        self.per_epoch = len(self.batches.epoch(0))
        self.dropped = len(self.batches.dropped)
        if self.dropped * 2 > len(corpus):
            raise DataError(
                f"{self.dropped:,} of {len(corpus):,} examples are longer than a batch of {tokens} tokens; raise "
                "train.batch.tokens, or set train.batch.sentences instead"
            )

    def after(self, epoch: int, position: int) -> Iterator[BatchPosition]:
        while True:
            for number in range(position, len(self._planned(epoch).batches.epoch(epoch))):
                yield BatchPosition(epoch, number)
            epoch, position = epoch + 1, 0

    def tokens(self, place: BatchPosition) -> int:
        planned = self._planned(place.epoch)
        return int(planned.counts[planned.batches.epoch(place.epoch)[place.position]].sum())

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        collate, batches, _ = self._planned(place.epoch)
        indices = batches.epoch(place.epoch)[place.position]
        return collate(indices if world == 1 else batches.shard(indices, rank, world))

    def _planned(self, epoch: int) -> _Planned:
        """Return the plan of an epoch; without dropout all epochs share one."""
        if self.dropouts and self._last[0] != epoch:
            self._last = epoch, self._cut(epoch)
        return self._last[1]

    def __str__(self) -> str:
        return f"{self.per_epoch:,} batches an epoch, {self.batches.padding_waste():.1%} of their cells padding"


class StreamFeed(Feed):
    """All texts of a corpus as one stream, in parallel rows, window after window (see `Stream`).

    The rows are sharded among the processes. All epochs are identical.

    Args:
        corpus: the texts.
        field: name of the text field.
        rows: number of parallel rows, over all processes.
        window: tokens per row and batch.
        ends: whether to append an end-of-sentence token to each text.
    """

    def __init__(self, corpus: Corpus, field: str, *, rows: int, window: int, ends: bool) -> None:
        self.field = field
        self.stream = Stream.of(corpus, field, batch=rows, steps=window, eos=ends)
        self.per_epoch = len(self.stream)

    def tokens(self, place: BatchPosition) -> int:
        return self.stream[place.position].target.numel()

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        window = self.stream[place.position]
        mine = slice(rank, None, world)
        # A language model takes T + 1 tokens and shifts them itself: the input, and the last target.
        text = torch.cat((window.text, window.target[:, -1:]), dim=1)[mine]  # [B / world, T + 1]
        rows = tuple(range(self.stream.batch)[mine])
        return Batch({self.field: text}, rows, window.target[mine].numel(), window.begins)

    def __str__(self) -> str:
        return f"{self.per_epoch:,} windows an epoch, {self.stream.batch} rows of {self.stream.steps} tokens each"
