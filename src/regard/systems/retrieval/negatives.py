"""Hard negatives: top-ranked wrong passages for the queries of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from regard.data.batching.batch import Batch
from regard.data.batching.corpus import Corpus
from regard.data.batching.feed import BatchPosition, Feed, WrappedFeed
from regard.data.batching.order import splitmix64
from regard.systems.retrieval.ranking import Ranking

Rank = Callable[[Sequence[str], int], list[Ranking]]
"""Function from queries and k to the indices of the k best passages of each query."""
_NEGATIVES = 21


class MinedNegatives:
    """Top-ranked wrong passages of each example, mined lazily.

    Args:
        queries: the query of each example, [N].
        owners: [N], index of the positive passage of each example.
        rank: ranking function, which returns passage indices.
        among: number of top-ranked wrong passages per query.

    >>> ranking = Ranking(np.array([4, 7, 5]), np.ones(3))
    >>> mined = MinedNegatives(["a", "a"], np.array([4, 5]), lambda queries, k: [ranking], among=2)
    >>> mined(0).tolist()                                                   # 5 is right for an equal query
    [7]
    """

    def __init__(self, queries: Sequence[str], owners: NDArray[np.int64], rank: Rank, *, among: int) -> None:
        self.queries, self.owners, self.rank, self.among = queries, owners, rank, among
        self._right: dict[str, set[int]] = {}
        for query, owner in zip(queries, owners.tolist(), strict=True):
            self._right.setdefault(query, set()).add(owner)
        self._found: dict[str, NDArray[np.int64]] = {}

    def __call__(self, example: int) -> NDArray[np.int64]:
        """Return the indices of the wrong passages of an example, best first."""
        query = self.queries[example]
        if query not in self._found:
            right = self._right[query]
            (ranked,) = self.rank([query], self.among + len(right))
            wrong = [number for number in ranked.numbers.tolist() if number not in right]
            self._found[query] = np.array(wrong[: self.among], np.int64)
        return self._found[query]


class NegativesFeed(WrappedFeed):
    """Adds negative passages to the batches of a feed: "negative" [B, K, S] and "negative_sizes" [B, K].

    Args:
        inner: feed of batches with "query" and "passage".
        corpus: the examples of the feed.
        mined: mined wrong passages of each example, as passage indices.
        examples: [M], index of an example that contains each passage.
        count: number of mined negatives per query; if fewer were found, random passages fill the rest.
        random: number of random negatives per query; K is the sum of both.
        seed: seed of the draws, which change with each epoch.
    """

    def __init__(
        self,
        inner: Feed,
        corpus: Corpus,
        mined: MinedNegatives,
        examples: NDArray[np.int64],
        *,
        count: int,
        random: int = 0,
        seed: int,
    ) -> None:
        super().__init__(inner)
        self.corpus, self.mined, self.examples = corpus, mined, examples
        self.count, self.total, self.seed = count, count + random, seed

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        batch = self.inner.batch(place, rank, world)
        chosen = [self._chosen(example, place.epoch) for example in batch.indices]
        numbers = self.examples[np.concatenate(chosen)] if chosen else np.zeros(0, np.int64)
        kind, column = self.corpus.kinds["passage"], self.corpus.column("passage")
        ids, sizes = (one.values for one in kind.collate("negative", column, numbers).values())
        shape = (batch.size, self.total)
        added = {"negative": ids.reshape(*shape, -1), "negative_sizes": sizes.reshape(shape)}
        return replace(batch, tensors={**batch.tensors, **{name: torch.from_numpy(one) for name, one in added.items()}})

    def _chosen(self, example: int, epoch: int) -> NDArray[np.int64]:
        """Draw K negatives of an example as passage indices: mined ones without replacement, then random ones."""
        found = self.mined(example)
        keys = splitmix64(np.arange(len(found), dtype=np.uint64), self.seed, epoch, example, _NEGATIVES)
        found = found[np.argsort(keys, kind="stable")][: self.count]
        drawn = splitmix64(np.arange(self.total, dtype=np.uint64), self.seed, epoch, example, _NEGATIVES + 1)
        others = (drawn % np.uint64(len(self.examples))).astype(np.int64)
        return np.concatenate([found, others])[: self.total]  # the loss masks random passages that are correct

    def __str__(self) -> str:
        return f"{self.inner}, {self.total} wrong passages per query"
