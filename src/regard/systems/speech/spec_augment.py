"""SpecAugment: masks over time and frequency, deterministic in seed, epoch and example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.data.random_draws import uniform_draws

_STREAM = 0x5BEC  # keeps these draws apart from others of the same seed, epoch and example


@dataclass(frozen=True, kw_only=True)
class SpecAugment:
    r"""Masks time spans and frequency bands of a training spectrogram, optionally after a time warp.

    Each mask has a width f ~ U[0, F] and begins at f_0 ~ U[0, C - f]; likewise t ~ U[0, T_max] and t_0 ~ U[0, T - t]
    in time, with T_max = min(`time_width`, `time_share` T). Hidden values are 0, the mean of normalised features. The
    warp moves a random frame by w ~ U[-W, W], and stretches the frames on each side linearly.

    The masks of an example depend on seed and epoch only, not on its batch, so a resumed run reproduces them.

    Attributes:
        frequency_masks: number of frequency masks.
        frequency_width: F, maximum width of a frequency mask.
        time_masks: number of time masks.
        time_width: maximum length of a time mask in frames.
        time_share: maximum length of a time mask as a share of the recording (p in the paper).
        time_warp: W, maximum shift in frames; 0 for none.

    Park et al. 2019, "SpecAugment: A Simple Data Augmentation Method for Automatic Speech Recognition", section 2. The
    defaults are a third of its policy LD, whose recordings are of 10 seconds and more. Its warp moves a
    point of an image by a spline; here time is bent linearly on both sides of the point.

    >>> features = torch.ones(2, 97, 40)
    >>> hidden = SpecAugment()(features, torch.tensor([97, 31]), [5, 8], seed=1, epoch=0)
    >>> hidden.shape, bool((hidden == 0).any())
    (torch.Size([2, 97, 40]), True)
    """

    frequency_masks: int = 2
    frequency_width: int = 8
    time_masks: int = 2
    time_width: int = 30
    time_share: float = 0.2
    time_warp: int = 0

    def __post_init__(self) -> None:
        for name in ("frequency_masks", "frequency_width", "time_masks", "time_width", "time_warp"):
            if getattr(self, name) < 0:
                raise ValueError(f"SpecAugment: {name} must be at least 0; got {getattr(self, name)}")
        if not 0.0 <= self.time_share <= 1.0:
            raise ValueError(f"SpecAugment: time_share must lie in [0, 1]; got {self.time_share}")

    def __call__(
        self, features: Tensor, lengths: Tensor | None, examples: Sequence[int], *, seed: int, epoch: int
    ) -> Tensor:
        """Mask features [B, T, C]; padding is unchanged.

        Args:
            features: normalised features, whose mean is 0.
            lengths: [B], lengths in frames; None if all are T.
            examples: [B], index of each example in its data set.
            seed: random seed of the run.
            epoch: index of the epoch.
        """
        if features.dim() != 3 or len(examples) != len(features):
            raise ValueError(
                "SpecAugment: features must be [B, T, C] with one index per example; "
                f"got {list(features.shape)} and {len(examples)} indices"
            )
        size, width = features.shape[1:]
        count = 2 * (self.frequency_masks + self.time_masks) + 2
        draws = torch.from_numpy(uniform_draws(examples, count, seed, epoch, _STREAM)).to(features.device)
        ends = torch.full((len(features),), size) if lengths is None else lengths
        ends = ends.to(features.device)
        if self.time_warp:
            features = _warped(features, ends, draws[:, :2], self.time_warp)
        bands, times = draws[:, 2 : 2 + 2 * self.frequency_masks], draws[:, 2 + 2 * self.frequency_masks :]
        widest = torch.full_like(ends, min(self.frequency_width, width))
        longest = (ends * self.time_share).long().clamp(max=self.time_width)
        hidden = _stretches(bands, widest, torch.full_like(ends, width), width).unsqueeze(1)  # [B, 1, C]
        hidden = hidden | _stretches(times, longest, ends, size).unsqueeze(2)  # [B, T, C]
        inside = torch.arange(size, device=features.device) < ends.unsqueeze(1)
        return features.masked_fill(hidden & inside.unsqueeze(2), 0.0)


def _stretches(draws: Tensor, longest: Tensor, ends: Tensor, size: int) -> Tensor:
    """Return a mask [B, size], True inside any span; two draws determine the width and start of each span."""
    width = (draws[:, 0::2] * (longest.unsqueeze(1) + 1)).long()  # [B, M], 0 to longest
    begin = (draws[:, 1::2] * (ends.unsqueeze(1) - width + 1)).long()  # [B, M]
    places = torch.arange(size, device=draws.device)[None, :, None]  # [1, size, 1]
    return ((places >= begin.unsqueeze(1)) & (places < (begin + width).unsqueeze(1))).any(2)


def _warped(features: Tensor, ends: Tensor, draws: Tensor, reach: int) -> Tensor:
    """Warp time so that frame c moves to c + w, with linear interpolation; short recordings are unchanged."""
    room = ends - 1 - 2 * reach
    centre = reach + (draws[:, 0] * room.clamp(min=0)).floor()
    moved = centre + ((2.0 * draws[:, 1] - 1.0) * reach).round()
    last = (ends - 1).double()
    places = torch.arange(features.shape[1], device=features.device, dtype=torch.float64).expand(len(features), -1)
    centre, moved, last = centre.unsqueeze(1), moved.unsqueeze(1), last.unsqueeze(1)
    # Inverse map: the source position of each output frame, linear on either side of the moved frame, [B, T].
    before = places * centre / moved.clamp(min=1.0)
    after = centre + (places - moved) * (last - centre) / (last - moved).clamp(min=1.0)
    source = torch.where(places < moved, before, after)
    free = (room > 0).unsqueeze(1) & (places <= last) & (moved > 0) & (moved < last)
    source = torch.where(free, source, places).clamp(min=0.0)
    lower = source.floor().long().clamp(max=features.shape[1] - 1)
    upper = (lower + 1).clamp(max=features.shape[1] - 1)
    share = (source - lower).to(features.dtype).unsqueeze(2)
    left, right = (features.gather(1, index.unsqueeze(2).expand_as(features)) for index in (lower, upper))  # [B, T, C]
    # Exact copies where no interpolation is needed: lerp would turn 0 * inf or 0 * NaN in `right` into NaN.
    return torch.where(share > 0, torch.lerp(left, right, share), left)
