"""Log-mel features of recordings: extraction with learned normalisation, and the field that stores them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.fields.column import EncodedRows
from regard.data.fields.vector_shape import VectorShape
from regard.data.fields.vectors import VectorsField
from regard.data.problems import DataError
from regard.data.sound.spectrogram import LogMel, Moments
from regard.systems.speech.sounds import Sound, sound_of

Normalisation = Literal["utterance", "corpus", "none"]


@dataclass(frozen=True, kw_only=True)
class SoundFeatures(VectorShape):
    """Extracts normalised log-mel frames [T, F] from recordings.

    Attributes:
        axes: (None, F).
        mel: the mel filter bank.
        normalise: scope of mean and variance normalisation per band: each recording, the training split, or none.
        count, mean, squares: `Moments` of the training split; empty unless `normalise` is "corpus".

    >>> features = SoundFeatures.of_settings(LogMel(rate=8000, mels=5), "utterance")
    >>> features(Sound("a", 8000, np.sin(np.arange(800)).astype(np.float32))).shape
    (8, 5)
    """

    FILE: ClassVar[str] = "sound"

    axes: tuple[int | None, ...]
    mel: LogMel
    normalise: Normalisation = "utterance"
    count: int = 0
    mean: tuple[float, ...] = ()
    squares: tuple[float, ...] = ()

    @classmethod
    def of_settings(cls, mel: LogMel, normalise: Normalisation) -> Self:
        """Return features without normalisation statistics."""
        return cls(axes=(None, mel.dim), mel=mel, normalise=normalise)

    @property
    def fingerprint(self) -> str:
        return repr(self)

    def learned_from(self, values: Iterable[Any]) -> Self:
        """Return a copy with the moments of a corpus, if normalisation needs them."""
        if self.normalise != "corpus":
            return self
        each = (Moments.of(torch.from_numpy(self.bands(sound_of(value)))) for value in values)
        total = reduce(Moments.__add__, each)
        mean, squares = tuple(total.mean.tolist()), tuple(total.squares.tolist())
        return replace(self, count=total.count, mean=mean, squares=squares)

    def bands(self, sound: Sound) -> NDArray[np.float32]:
        """Return log-mel frames [T, F] without normalisation, for display."""
        found: NDArray[np.float32] = self.mel(torch.from_numpy(sound.at(self.mel.rate))).numpy()
        return found

    def __call__(self, sound: Sound) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._normalised(torch.from_numpy(self.bands(sound))).numpy()
        return found

    def normalised(self, bands: Tensor, lengths: Tensor) -> Tensor:
        """Normalise log-mel energies [B, T, F] of lengths [B] like recordings; zero at padding."""
        found = torch.zeros_like(bands)
        for row, size in enumerate(lengths.tolist()):
            found[row, :size] = self._normalised(bands[row, :size])
        return found

    def restored(self, frames: Tensor) -> Tensor:
        """Invert the normalisation of frames [..., F]; with per-utterance normalisation the level is lost."""
        return self._moments.restore(frames) if self.normalise == "corpus" else frames

    def _normalised(self, bands: Tensor) -> Tensor:
        if self.normalise == "none":
            return bands
        return (Moments.of(bands) if self.normalise == "utterance" else self._moments).normalize(bands)

    @property
    def _moments(self) -> Moments:
        mean, squares = (torch.tensor(one, dtype=torch.float64, device="cpu") for one in (self.mean, self.squares))
        return Moments(self.count, mean, squares)

    def save(self, path: str | Path) -> None:
        """Write all settings as JSON."""
        Path(path).write_text(json.dumps(asdict(self), indent=1), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            kept = json.loads(Path(path).read_text(encoding="utf-8"))
            mel = LogMel(**kept.pop("mel"))
            lists: dict[str, Any] = {name: tuple(kept.pop(name)) for name in ("axes", "mean", "squares")}
            return cls(mel=mel, **lists, **kept)
        except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise DataError(f"{path} holds no settings of features: {error}") from error


@dataclass(frozen=True)
class SoundField(VectorsField):
    """Recordings as frames: float32 [B, T, F], and their lengths [B].

    A value is a path, or a `Sound`. Files of any rate are resampled to that of the features.

    Attributes:
        settings: feature settings, without statistics.
    """

    settings: SoundFeatures | None = field(default=None, repr=False, compare=False)

    @property
    def features(self) -> SoundFeatures:
        """The learned features."""
        assert isinstance(self.learned, SoundFeatures)
        return self.learned

    def learn(self, values: Iterable[Any]) -> SoundFeatures:
        assert self.settings is not None
        return self.settings.learned_from(values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        sounds = [sound_of(value) for value in values]
        found = super().encode([self.features(sound) for sound in sounds])
        notes = tuple(note for sound in sounds for note in sound.notes(self.features.mel.rate))
        return {**found, "values": found["values"]._replace(notes=notes)}
