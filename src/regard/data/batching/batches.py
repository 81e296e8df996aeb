"""Batches by token budget, as a function of seed, epoch and position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.data.batching.mixture import repeat_rows
from regard.data.batching.order import permutation
from regard.data.problems import DataError

Indices = NDArray[np.int64]
_SHUFFLE, _BATCHES = 1, 2


class NumberedBatch(NamedTuple):
    """One batch and where it stands."""

    epoch: int
    position: int
    batch: Indices


class Batches:
    """Batches of examples of similar length, within a budget.

    A batch of n examples costs n · Σ_f max_f, the cells of its padded tensors summed over the fields f whose lengths
    are given: give source and target to count both, the target alone to count target tokens. `tokens` bounds that
    cost, `sentences` bounds n; either or both.

    An epoch puts all examples in a random order, sorts them by length within pools, cuts each pool into batches, and
    puts the batches in a random order. `epoch(e)` is a pure function of the arguments and e, so a run is resumed by
    its epoch and position alone: `batches.epoch(e)[position:]`. It knows nothing of processes; `shard` divides a
    batch among them, and the batches are the same however many there are.

    Args:
        lengths: [N] or [N, F], how long each example is as it will stand in a tensor (beginning and end included).
        tokens: the most padded cells of a batch.
        sentences: the most examples of a batch.
        seed: of both shuffles.
        pool: how many examples are sorted together; None for all of them. Larger pads less and mixes less; make it
            many times a batch.
        shuffle: False for evaluation: sorted by length, always the same.
        overlong: an example that exceeds the budget alone is an error ("refuse") or left out ("drop"; see `dropped`).
        weights: [N], how often each example is learned from in an epoch, drawn anew where that is a fraction; None for
            once. Not for evaluation.

    >>> batches = Batches([3, 9, 4, 8, 3], tokens=20, shuffle=False)
    >>> [batch.tolist() for batch in batches.epoch(0)], round(batches.padding_waste(), 3)
    ([[0, 4, 2], [3, 1]], 0.1)
    """

    def __init__(
        self,
        lengths: ArrayLike,
        *,
        tokens: int | None = None,
        sentences: int | None = None,
        seed: int = 0,
        pool: int | None = 16384,
        shuffle: bool = True,
        overlong: Literal["refuse", "drop"] = "refuse",
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        if tokens is None and sentences is None:
            raise DataError("batches need a budget: set tokens or sentences")
        for name, value in (("tokens", tokens), ("sentences", sentences), ("pool", pool)):
            if value is not None and value < 1:
                raise DataError(f"{name} is {value}; it must be at least 1")
        table = np.asarray(lengths, dtype=np.int64)
        self.lengths: NDArray[np.int64] = table[:, None] if table.ndim == 1 else table
        self.tokens, self.sentences, self.seed, self.pool, self.shuffle = tokens, sentences, seed, pool, shuffle
        self.weights = weights
        self._kept, self.dropped = self._fitting(overlong)
        self._planned: tuple[int, list[Indices]] | None = None

    def epoch(self, number: int) -> list[Indices]:
        """The batches of an epoch, each the indices of its examples."""
        if not self.shuffle:
            number = 0
        if self._planned is None or self._planned[0] != number:
            self._planned = number, self._plan(number)
        return self._planned[1]

    def after(self, epoch: int = 0, position: int = 0) -> Iterator[NumberedBatch]:
        """The batches from a place on, through all epochs to come."""
        while True:
            for place, batch in enumerate(self.epoch(epoch)[position:], start=position):
                yield NumberedBatch(epoch, place, batch)
            epoch, position = epoch + 1, 0

    def shard(self, batch: Indices, rank: int, world: int) -> Indices:
        """The part of a batch that process `rank` of `world` works on.

        The parts are disjoint, make up the batch, and are balanced: the longest examples first, each to the process
        that has the fewest tokens so far. With fewer examples than processes some parts are empty.
        """
        if not 0 <= rank < world:
            raise DataError(f"rank {rank} of {world} processes; ranks are 0 to {world - 1}")
        costs = self.lengths[batch].sum(1)
        loads = np.zeros(world, np.int64)
        mine = []
        for place in np.argsort(-costs, kind="stable"):
            lightest = int(loads.argmin())
            loads[lightest] += max(int(costs[place]), 1)
            if lightest == rank:
                mine.append(int(place))
        return batch[np.array(sorted(mine), np.int64)]

    def padding_waste(self, epoch: int = 0) -> float:
        """The share of padded cells that are padding in an epoch."""
        real = padded = 0
        for batch in self.epoch(epoch):
            rows = self.lengths[batch]
            real += int(rows.sum())
            padded += len(batch) * int(rows.max(0).sum())
        return 1 - real / padded if padded else 0.0

    def _fitting(self, overlong: str) -> tuple[Indices, Indices]:
        """The examples that fit the budget, and those that do not."""
        if overlong not in ("refuse", "drop"):
            raise DataError(f"overlong is {overlong!r}; it can be 'refuse' or 'drop'")
        costs = self.lengths.sum(1)
        fits = costs <= (self.tokens if self.tokens is not None else np.inf)
        if overlong == "refuse" and not fits.all():
            worst = int(costs.argmax())
            many = f"{int((~fits).sum())} examples are longer than the budget of {self.tokens} tokens"
            raise DataError(f"{many} (example {worst} has {costs[worst]}); raise tokens, or set overlong to drop")
        if not fits.any():
            raise DataError(
                f"no example fits a batch of {self.tokens} tokens" if len(fits) else "there are no examples"
            )
        return np.flatnonzero(fits), np.flatnonzero(~fits)

    def _plan(self, epoch: int) -> list[Indices]:
        kept = self._kept if self.weights is None else repeat_rows(self._kept, self.weights, self.seed, epoch)
        count = len(kept)
        order = kept[permutation(count, self.seed, epoch, _SHUFFLE)] if self.shuffle else kept
        pool = self.pool if self.shuffle and self.pool is not None else count
        batches = [batch for begin in range(0, count, pool) for batch in self._cut(order[begin : begin + pool])]
        if not self.shuffle:
            return batches
        return [batches[place] for place in permutation(len(batches), self.seed, epoch, _BATCHES)]

    def _cut(self, pool: Indices) -> Iterator[Indices]:
        """Sort a pool by length (ties stay in random order) and cut it greedily.

        By the last field first, and by the others up and down in turn, so that a batch that reaches from one length of
        the last field into the next finds the others as long there as it left them.
        """
        rows = self.lengths[pool]
        last, others = rows[:, -1], rows[:, :-1].sum(1)
        pool = pool[np.lexsort((np.where(last % 2, -others, others), last))]
        rows = self.lengths[pool]
        begin = 0
        while begin < len(pool):
            end = begin + self._affordable(rows[begin:])
            yield pool[begin:end]
            begin = end

    def _affordable(self, rows: NDArray[np.int64]) -> int:
        """Return how many of these rows, from the first on, make a batch within the budget."""
        most = len(rows) if self.sentences is None else min(len(rows), self.sentences)
        if self.tokens is None:
            return most
        most = min(most, max(self.tokens // max(int(rows[0].sum()), 1), 1))
        costs = np.maximum.accumulate(rows[:most]).sum(1) * np.arange(1, most + 1)
        return max(int(np.searchsorted(costs, self.tokens, side="right")), 1)
