"""Batches within a token budget, as a function of seed, epoch and position."""

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
    """A batch with its epoch and its position in the epoch."""

    epoch: int
    position: int
    batch: Indices


class Batches:
    """Batches of examples of similar length, within a budget.

    A batch of n examples costs n · Σ_f max_f: the cells of its padded tensors, summed over the fields f in `lengths`.
    Pass the lengths of source and target to count both, of the target alone to count target tokens. `tokens` limits
    that cost and `sentences` limits n; at least one is required.

    An epoch shuffles all examples, sorts them by length within pools, cuts each pool into batches, and shuffles the
    batches. `epoch(e)` is a pure function of the arguments and e, so a run is resumed from epoch and position alone:
    `batches.epoch(e)[position:]`. The batches do not depend on the number of processes; `shard` divides a batch among
    them.

    Args:
        lengths: length of each example in a padded tensor, including `<s>` and `</s>`, [N] or [N, F].
        tokens: maximum number of padded cells per batch.
        sentences: maximum number of examples per batch.
        seed: seed of both shuffles.
        pool: number of examples that are sorted together; None for all. A larger pool needs less padding but shuffles
            less; it should be many times the batch size.
        shuffle: False for evaluation: sorted by length, the same in each epoch.
        overlong: an example that exceeds the budget by itself raises an error ("refuse") or is left out ("drop"; see
            `dropped`).
        weights: number of times each example occurs per epoch, [N]; a fraction is sampled in each epoch. None for once.
            For training only.

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
        """Return the batches of an epoch, each as the indices of its examples."""
        if not self.shuffle:
            number = 0  # all epochs share one cached plan
        if self._planned is None or self._planned[0] != number:
            self._planned = number, self._plan(number)
        return self._planned[1]

    def after(self, epoch: int = 0, position: int = 0) -> Iterator[NumberedBatch]:
        """Yield the batches from a position onwards, over all following epochs without end."""
        while True:
            for place, batch in enumerate(self.epoch(epoch)[position:], start=position):
                yield NumberedBatch(epoch, place, batch)
            epoch, position = epoch + 1, 0

    def shard(self, batch: Indices, rank: int, world: int) -> Indices:
        """Return the shard of a batch for process `rank` of `world`.

        The shards partition the batch and are balanced greedily: examples are assigned in order of descending length,
        each to the process with the fewest tokens so far. With fewer examples than processes some shards are empty.
        """
        if not 0 <= rank < world:
            raise DataError(f"rank {rank} of {world} processes; ranks are 0 to {world - 1}")
        costs = self.lengths[batch].sum(1)
        loads = np.zeros(world, np.int64)
        mine = []
        for place in np.argsort(-costs, kind="stable"):
            lightest = int(loads.argmin())
            # At least 1, so that empty examples are distributed as well.
            loads[lightest] += max(int(costs[place]), 1)
            if lightest == rank:
                mine.append(int(place))
        return batch[np.array(sorted(mine), np.int64)]  # in the order of the batch

    def padding_waste(self, epoch: int = 0) -> float:
        """Return the fraction of the cells of an epoch's batches that are padding."""
        real = padded = 0
        for batch in self.epoch(epoch):
            rows = self.lengths[batch]
            real += int(rows.sum())
            padded += len(batch) * int(rows.max(0).sum())
        return 1 - real / padded if padded else 0.0

    def _fitting(self, overlong: str) -> tuple[Indices, Indices]:
        """Return the indices of the examples that fit the budget, and of those that do not."""
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
        """Sort a pool by length (ties stay in random order) and cut it greedily into batches.

        The last field is the primary key. The other fields are sorted in alternating direction, ascending and
        descending, so that their lengths do not jump where a batch spans two lengths of the last field.
        """
        rows = self.lengths[pool]
        last, others = rows[:, -1], rows[:, :-1].sum(1)  # [N], [N]
        pool = pool[np.lexsort((np.where(last % 2, -others, others), last))]
        rows = self.lengths[pool]
        begin = 0
        while begin < len(pool):
            end = begin + self._affordable(rows[begin:])
            yield pool[begin:end]
            begin = end

    def _affordable(self, rows: NDArray[np.int64]) -> int:
        """Return the number of leading rows that form a batch within the budget."""
        most = len(rows) if self.sentences is None else min(len(rows), self.sentences)
        if self.tokens is None:
            return most
        # An upper bound by the first row, which limits the work of the cumulative maximum below.
        most = min(most, max(self.tokens // max(int(rows[0].sum()), 1), 1))
        # Cost of the first n rows for every n: it is ascending, so a binary search finds the largest that fits.
        costs = np.maximum.accumulate(rows[:most]).sum(1) * np.arange(1, most + 1)
        return max(int(np.searchsorted(costs, self.tokens, side="right")), 1)
