"""Hard negatives: wrong passages that a ranking finds for the queries of a batch."""

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
"""From queries and k to the k best passages of each, by number."""
_NEGATIVES = 21


class MinedNegatives:
    """The best-ranked wrong passages of each example, found when they are first needed.

    Args:
        queries: the query of each example, [N].
        owners: [N], the number of the passage of each example.
        rank: by numbers of passages.
        among: how many wrong passages are kept.

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
        """Return the wrong passages of an example, best first."""
        query = self.queries[example]
        if query not in self._found:
            right = self._right[query]
            (ranked,) = self.rank([query], self.among + len(right))
            wrong = [number for number in ranked.numbers.tolist() if number not in right]
            self._found[query] = np.array(wrong[: self.among], np.int64)
        return self._found[query]


class NegativesFeed(WrappedFeed):
    """The batches of another feed with wrong passages: "negative" [B, K, S], with "negative_sizes" [B, K].

    Args:
        inner: batches with "query" and "passage".
        corpus: their examples.
        mined: the wrong passages of each example, as numbers of passages.
        examples: [M], an example that has each passage.
        count: number of those per query; where fewer were found, any other passages take their place.
        random: number of further passages, drawn from all; K is the sum of both.
        seed: of the draws, which are new in each epoch.
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
        """Return K wrong passages of an example, by number: drawn without replacement, then any others."""
        found = self.mined(example)
        keys = splitmix64(np.arange(len(found), dtype=np.uint64), self.seed, epoch, example, _NEGATIVES)
        found = found[np.argsort(keys, kind="stable")][: self.count]
        drawn = splitmix64(np.arange(self.total, dtype=np.uint64), self.seed, epoch, example, _NEGATIVES + 1)
        others = (drawn % np.uint64(len(self.examples))).astype(np.int64)
        return np.concatenate([found, others])[: self.total]  # one that is right by chance is masked in the loss

    def __str__(self) -> str:
        return f"{self.inner}, {self.total} wrong passages per query"
