"""Feed of a single full-graph batch per epoch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING

from regard.data import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.systems.nodes.graphs import Members

if TYPE_CHECKING:
    from regard.systems.nodes.task import Nodes


class GraphFeed(Feed):
    """Full-batch feed: each update is an epoch over the whole graph; several processes share the training nodes.

    Args:
        task: task with the graph.
        members: nodes to classify.
    """

    per_epoch = 1

    def __init__(self, task: Nodes, members: Members) -> None:
        self.task = task
        self.members = members
        self._whole = task.batch(members.numbers)

    def after(self, epoch: int, position: int) -> Iterator[BatchPosition]:
        return (BatchPosition(number, 0) for number in count(epoch + (position > 0)))

    def tokens(self, place: BatchPosition) -> int:
        return self._whole.tokens

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        return self._whole if world == 1 else self.task.batch(self.members.numbers[rank::world])

    def __str__(self) -> str:
        graph = self.task.graph
        joined = f"{len(graph.names):,} nodes and {graph.edges.shape[1]:,} edges"
        return f"one graph of {joined}, {len(self.members):,} of its nodes to learn from"
