"""Voice perturbation: random changes of speed, vocal tract length and gain in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.random_draws import uniform_draws
from regard.data.sound.spectrogram import LogMel

_STREAM = 0x701CE  # keeps these draws apart from others of the same seed, epoch and example


@dataclass(frozen=True, kw_only=True)
class Voices:
    r"""Perturbs log-mel frames to simulate other speakers.

    .. math:: X'_{tm} = X\bigl(t / s,\ \mathrm{mel}(\alpha\, \mathrm{hz}(m))\bigr) + g, \qquad
              s \sim U[1 - S, 1 + S], \quad \alpha \sim U[1 - A, 1 + A], \quad g \sim U[-G, G]

    X is interpolated linearly between frames and bands; positions outside the bands use the outermost band. A recording
    of T frames gets ⌈s T⌉ frames.

    The changes of an example depend on seed and epoch only, not on its batch.

    Attributes:
        speed: S, maximum relative change of the duration.
        tract: A, maximum relative shift of all frequencies.
        gain: G, maximum change of the level in decibels.

    Jaitly & Hinton 2013, "Vocal Tract Length Perturbation (VTLP) improves speech recognition"; Ko et al. 2015, "Audio
    augmentation for speech recognition" (speed). Here both act on frames, not on samples: the speed leaves the pitch as
    it is, and the warp is linear up to the highest band, where the first paper bends it back.

    >>> bands, lengths = Voices(speed=0.2, tract=0.1)(torch.zeros(2, 7, 5), torch.tensor([7, 4]), [3, 8],
    ...                                               mel=LogMel(rate=8000, mels=5), seed=1, epoch=0)
    >>> bands.shape[2], [3 <= size <= 5 for size in lengths.tolist()][1]
    (5, True)
    """

    speed: float = 0.0
    tract: float = 0.0
    gain: float = 0.0

    def __post_init__(self) -> None:
        for name in ("speed", "tract"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"Voices: {name} must lie in [0, 1); got {getattr(self, name)}")
        if self.gain < 0.0:
            raise ValueError(f"Voices: gain must be at least 0; got {self.gain}")

    def __call__(
        self, bands: Tensor, lengths: Tensor, examples: Sequence[int], *, mel: LogMel, seed: int, epoch: int
    ) -> tuple[Tensor, Tensor]:
        """Return changed frames [B, T', F], zero at padding, and their lengths [B].

        Args:
            bands: [B, T, F], log-mel energies.
            lengths: [B], lengths in frames.
            examples: [B], index of each example in its data set.
            mel: the mel filter bank.
            seed: random seed of the run.
            epoch: index of the epoch.
        """
        draws = torch.from_numpy(2.0 * uniform_draws(examples, 3, seed, epoch, _STREAM) - 1.0)  # [B, 3] in [-1, 1)
        speed, tract, gain = 1.0 + self.speed * draws[:, 0], 1.0 + self.tract * draws[:, 1], self.gain * draws[:, 2]
        after = (lengths * speed).ceil().long()  # [B]
        steps = torch.arange(int(after.max()), dtype=torch.float64)
        times = steps / speed.unsqueeze(1)  # [B, T']
        last = (lengths - 1).clamp(min=0).unsqueeze(1)
        found = _between(bands.double(), times.minimum(last), 1)  # [B, T', F]
        found = _between(found, _warped_bands(tract, mel), 2)  # [B, T', F]
        found = found + gain[:, None, None] * (math.log(10.0) / 10.0)  # decibels to natural log of energy
        real = steps < after.unsqueeze(1)  # [B, T']
        return found.masked_fill(~real.unsqueeze(2), 0.0).to(bands.dtype), after


def _warped_bands(factor: Tensor, mel: LogMel) -> Tensor:
    """Return the fractional band index at the frequency of each band times a factor: [B] -> [B, F]."""
    low, high = _mel(torch.tensor([mel.low, mel.top], dtype=torch.float64))
    step = (high - low) / (mel.mels + 1)
    centres = low + step * torch.arange(1, mel.mels + 1, dtype=torch.float64)
    hertz = 700.0 * (10.0 ** (centres / 2595.0) - 1.0)
    places = (_mel(factor.unsqueeze(1) * hertz) - low) / step - 1.0
    within: Tensor = places.clamp(0.0, mel.mels - 1.0)
    return within


def _mel(hertz: Tensor) -> Tensor:
    return 2595.0 * (1.0 + hertz / 700.0).log10()


def _between(x: Tensor, places: Tensor, axis: int) -> Tensor:
    """Interpolate x [B, T, F] linearly at fractional positions [B, P] along one axis."""
    lower = places.floor().long()
    upper = (lower + 1).clamp(max=x.shape[axis] - 1)
    share = places - lower
    index = (slice(None), slice(None), None) if axis == 1 else (slice(None), None, slice(None))
    shape = (-1, -1, x.shape[2]) if axis == 1 else (-1, x.shape[1], -1)
    left, right = (x.gather(axis, one[index].expand(shape)) for one in (lower, upper))
    return torch.lerp(left, right, share[index].expand_as(left))
