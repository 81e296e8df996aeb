"""The batches of another feed, with recordings that are changed at random."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch import Tensor

from regard.data.batching.batch import Batch
from regard.data.batching.feed import Feed, Place
from regard.data.sound.spec_augment import SpecAugment
from regard.data.sound.voices import Voices
from regard.systems.speech.features import SoundFeatures


@dataclass(frozen=True)
class Augmentation:
    """Random changes of normalised features, in training alone.

    Attributes:
        voices: speed, vocal tract and gain; None for none.
        masks: parts that are hidden; None for none.
    """

    voices: Voices | None = None
    masks: SpecAugment | None = None

    def __str__(self) -> str:
        parts = ["other voices"] * (self.voices is not None) + ["SpecAugment"] * (self.masks is not None)
        return " and ".join(parts)


class AugmentedFeed(Feed):
    """Changed recordings, as a function of the seed, the epoch and the example.

    Args:
        inner: batches of examples.
        augmentation: the changes.
        features: of the recordings.
        field: the recordings.
        seed: of the run.
    """

    def __init__(
        self, inner: Feed, augmentation: Augmentation, features: SoundFeatures, field: str, *, seed: int
    ) -> None:
        self.inner, self.augmentation, self.features = inner, augmentation, features
        self.field, self.seed = field, seed
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
        if not batch.size:
            return batch
        names = self.field, f"{self.field}_lengths"
        frames, lengths = self._changed(batch[names[0]], batch[names[1]], batch.indices, place.epoch)
        return replace(batch, tensors={**batch.tensors, names[0]: frames, names[1]: lengths})

    def _changed(self, frames: Tensor, lengths: Tensor, examples: tuple[int, ...], epoch: int) -> tuple[Tensor, Tensor]:
        """Return frames [B, T', F] and lengths [B]."""
        if (voices := self.augmentation.voices) is not None:
            bands = self.features.restored(frames)
            bands, lengths = voices(bands, lengths, examples, mel=self.features.mel, seed=self.seed, epoch=epoch)
            frames = self.features.normalised(bands, lengths)
        if (masks := self.augmentation.masks) is not None:
            frames = masks(frames, lengths, examples, seed=self.seed, epoch=epoch)
        return frames, lengths

    def __str__(self) -> str:
        return f"{self.inner}, with {self.augmentation}"
