"""Data augmentation of speech in training: voice perturbation and SpecAugment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from regard.data.batching.batch import Batch
from regard.systems.speech.features import SoundFeatures
from regard.systems.speech.spec_augment import SpecAugment
from regard.systems.speech.voices import Voices


@dataclass(frozen=True)
class SoundAugmentation:
    """Random perturbation of normalised features.

    Attributes:
        features: feature extractor of the recordings.
        voices: perturbation of speed, vocal tract length and gain; None for none.
        masks: SpecAugment; None for none.
        field: name of the field of recordings.
        seed: random seed of the run.
    """

    features: SoundFeatures
    voices: Voices | None = None
    masks: SpecAugment | None = None
    field: str = "recording"
    seed: int = 0

    def __str__(self) -> str:
        parts = ["other voices"] * (self.voices is not None) + ["SpecAugment"] * (self.masks is not None)
        return " and ".join(parts)

    def __call__(self, batch: Batch, epoch: int) -> Batch:
        names = self.field, f"{self.field}_lengths"
        frames, lengths = self._changed(batch[names[0]], batch[names[1]], batch.indices, epoch)
        return replace(batch, tensors={**batch.tensors, names[0]: frames, names[1]: lengths})

    def _changed(self, frames: Tensor, lengths: Tensor, examples: tuple[int, ...], epoch: int) -> tuple[Tensor, Tensor]:
        """Return perturbed frames [B, T', F] and their lengths [B]."""
        if self.voices is not None:
            bands = self.features.restored(frames)
            bands, lengths = self.voices(bands, lengths, examples, mel=self.features.mel, seed=self.seed, epoch=epoch)
            frames = self.features.normalised(bands, lengths)
        if self.masks is not None:
            frames = self.masks(frames, lengths, examples, seed=self.seed, epoch=epoch)
        return frames, lengths
