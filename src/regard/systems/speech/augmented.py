"""The batches of another feed with SpecAugment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from regard.data.batching.batch import Batch
from regard.data.batching.feed import Feed, Place
from regard.data.sound.spec_augment import SpecAugment


class AugmentedFeed(Feed):
    """Recordings with parts of them hidden, as a function of the seed, the epoch and the example.

    Args:
        inner: batches of examples.
        augment: what is hidden.
        field: the recordings.
        seed: of the run.
    """

    def __init__(self, inner: Feed, augment: SpecAugment, field: str, *, seed: int) -> None:
        self.inner, self.augment, self.field, self.seed = inner, augment, field, seed
        self.per_epoch, self.dropped = inner.per_epoch, inner.dropped

    @property
    def unwrapped(self) -> Feed:
        return self.inner

    def after(self, epoch: int, position: int) -> Iterator[Place]:
        return self.inner.after(epoch, position)

    def tokens(self, place: Place) -> int:
        return self.inner.tokens(place)

    def batch(self, place: Place, rank: int = 0, world: int = 1) -> Batch:
        batch = self.inner.batch(place, rank, world)
        hidden = self.augment(
            batch[self.field], batch[f"{self.field}_lengths"], batch.indices, seed=self.seed, epoch=place.epoch
        )
        return replace(batch, tensors={**batch.tensors, self.field: hidden})

    def __str__(self) -> str:
        return f"{self.inner}, with SpecAugment"
