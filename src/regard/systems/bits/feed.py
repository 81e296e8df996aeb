"""Feed of generated episodes: each batch is drawn on demand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from regard.data import Batch
from regard.data.batching.feed import BatchPosition, Feed
from regard.systems.bits.episodes import Drawn, Episodes


class DrawnFeed(Feed):
    """Feed of batches of episodes of equal length. A finite split is one epoch; an unlimited one never ends.

    Args:
        drawn: source of the episodes.
        size: number of episodes per batch.
    """

    def __init__(self, drawn: Drawn, size: int) -> None:
        self.drawn = drawn
        self.size = size
        self.per_epoch = -(-len(drawn) // size)
        self._last: tuple[int, Episodes] | None = None

    def after(self, epoch: int, position: int) -> Iterator[BatchPosition]:
        return (BatchPosition(epoch, number) for number in count(position))

    def tokens(self, place: BatchPosition) -> int:
        return self._episodes(place).bits

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        return self._episodes(place).batch(place.position * self.size, rank, world)

    def _episodes(self, place: BatchPosition) -> Episodes:
        """Return the episodes of a batch; the last batch is cached, because `tokens` and `batch` both need it."""
        if self._last is None or self._last[0] != place.position:
            self._last = place.position, self.drawn.draw(place.position, self.size)
        return self._last[1]

    def __str__(self) -> str:
        return f"batches of {self.size} sequences, drawn without end"
