"""Data augmentation of the batches of a feed in training."""

from __future__ import annotations

from typing import Protocol

from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, Feed, WrappedFeed


class Augmentation(Protocol):
    """Random augmentation of a batch, as a function of the epoch and of the examples in it.

    The augmentation of an example does not depend on its batch, so that a resumed run is identical.
    """

    def __call__(self, batch: Batch, epoch: int) -> Batch:
        """Return the augmented batch."""

    def __str__(self) -> str:
        """Return a phrase that describes the augmentation."""


class AugmentedFeed(WrappedFeed):
    """Batches of another feed with augmentation that differs in each epoch.

    Args:
        inner: the feed to augment.
        augmentation: applied to each batch that is not empty.
    """

    def __init__(self, inner: Feed, augmentation: Augmentation) -> None:
        super().__init__(inner)
        self.augmentation = augmentation

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        batch = self.inner.batch(place, rank, world)
        return self.augmentation(batch, place.epoch) if batch.size else batch

    def __str__(self) -> str:
        return f"{self.inner}, with {self.augmentation}"
