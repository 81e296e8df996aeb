"""Batches of another feed, changed at random in training."""

from __future__ import annotations

from typing import Protocol

from regard.data.batching.batch import Batch
from regard.data.batching.feed import BatchPosition, Feed, WrappedFeed


class Augmentation(Protocol):
    """Random changes of a batch, as a function of the epoch and of the examples in it.

    An example gets the same changes in whichever batch it stands, so that a resumed run is the same run.
    """

    def __call__(self, batch: Batch, epoch: int) -> Batch:
        """Return the changed batch."""

    def __str__(self) -> str:
        """Return a phrase that names the changes."""


class AugmentedFeed(WrappedFeed):
    """Batches of another feed with changes, anew in each epoch.

    Args:
        inner: batches of examples.
        augmentation: the changes.
    """

    def __init__(self, inner: Feed, augmentation: Augmentation) -> None:
        super().__init__(inner)
        self.augmentation = augmentation

    def batch(self, place: BatchPosition, rank: int = 0, world: int = 1) -> Batch:
        batch = self.inner.batch(place, rank, world)
        return self.augmentation(batch, place.epoch) if batch.size else batch

    def __str__(self) -> str:
        return f"{self.inner}, with {self.augmentation}"
