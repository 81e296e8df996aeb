"""Log-mel spectrograms of recordings."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, kw_only=True)
class LogMel:
    r"""Log-mel spectrogram: logarithmic energies per frame in bands that are evenly spaced on the mel scale.

    .. math:: X_{tm} = \log \max\Bigl(\varepsilon,\,
              \sum_f M_{mf} \, |\mathrm{DFT}(w \odot x_{[tH,\, tH + W)})_f|^2\Bigr)

    Frame t is the W samples from sample t H, times a periodic Hann window w, zero-padded to the next power of two for
    the Fourier transform. M contains triangular filters between m + 2 points that are evenly spaced on the mel scale;
    see `mel_filters`. A recording shorter than a window is one frame.

    Attributes:
        rate: sample rate in Hz.
        window: frame length in seconds, W / rate.
        hop: hop length in seconds, H / rate.
        mels: m, the number of bands.
        low: lower edge of the lowest band, in Hz.
        high: upper edge of the highest band, in Hz; None for rate / 2.
        floor: ε, the minimum energy, which avoids the logarithm of zero in silence.
        deltas: order of the time derivatives appended to the bands: 0, 1 (velocity) or 2 (also acceleration).

    Davis & Mermelstein 1980; the mel scale of O'Shaughnessy 1987, the triangles of HTK. With `deltas=0` the values are
    the logarithms of `torchaudio.transforms.MelSpectrogram(center=False)` with its defaults.

    >>> features = LogMel(rate=8000)
    >>> features(torch.zeros(8000)).shape, features.dim
    (torch.Size([98, 40]), 40)
    """

    rate: int = 16000
    window: float = 0.025
    hop: float = 0.010
    mels: int = 40
    low: float = 0.0
    high: float | None = None
    floor: float = 1e-10
    deltas: int = 0

    def __post_init__(self) -> None:
        if self.window_samples < 2 or self.hop_samples < 1:
            raise ValueError(
                f"log-mel features: a window of {self.window} s and a hop of {self.hop} s are less than a sample "
                f"of a rate of {self.rate}"
            )
        if not 0.0 <= self.low < self.top <= self.rate / 2:
            raise ValueError(
                f"log-mel features: low and high must rise from 0 to half of the rate, {self.rate / 2:g}; "
                f"got {self.low:g} and {self.top:g}"
            )
        if self.mels < 1 or self.deltas not in (0, 1, 2) or self.floor <= 0.0:
            raise ValueError(
                "log-mel features: mels must be at least 1, deltas 0, 1 or 2, and floor above 0; "
                f"got {self.mels}, {self.deltas} and {self.floor}"
            )

    @property
    def window_samples(self) -> int:
        """W, the frame length in samples."""
        return round(self.window * self.rate)

    @property
    def hop_samples(self) -> int:
        """H, the hop length in samples."""
        return round(self.hop * self.rate)

    @property
    def top(self) -> float:
        """Upper edge of the highest band, in Hz."""
        return self.rate / 2 if self.high is None else self.high

    @property
    def dim(self) -> int:
        """Number of features per frame."""
        return self.mels * (1 + self.deltas)

    def frames(self, samples: int) -> int:
        """Return the number of frames of a recording with this many samples.

        >>> [LogMel(rate=8000).frames(samples) for samples in (1, 200, 279, 280)]
        [1, 1, 1, 2]
        """
        return 1 + max(0, samples - self.window_samples) // self.hop_samples

    def __call__(self, samples: Tensor) -> Tensor:
        """Compute features [frames, dim] of samples [T] in float32 or float64; [B, T] gives [B, frames, dim]."""
        if samples.dim() not in (1, 2) or not samples.shape[-1] or not samples.is_floating_point():
            raise ValueError(
                f"log-mel features: samples must be floats, [T] or [B, T]; got {samples.dtype} of {list(samples.shape)}"
            )
        size, hop = self.window_samples, self.hop_samples
        samples = F.pad(samples, (0, max(0, size - samples.shape[-1])))  # at least one frame
        transform = 1 << (size - 1).bit_length()  # next power of two
        window = torch.hann_window(size, periodic=True, dtype=samples.dtype, device=samples.device)
        spectrum = torch.fft.rfft(samples.unfold(-1, size, hop) * window, n=transform)  # [..., frames, bins]
        filters = mel_filters(self.mels, transform, self.rate, self.low, self.top).to(samples)
        bands = (spectrum.abs().square() @ filters.T).clamp(min=self.floor).log()  # [..., frames, mels]
        parts = [bands]
        for _ in range(self.deltas):
            parts.append(deltas(parts[-1]))
        return torch.cat(parts, dim=-1)


@lru_cache(maxsize=8)
def mel_filters(mels: int, transform: int, rate: int, low: float, high: float) -> Tensor:
    r"""Return triangular mel filters, float64 [mels, transform / 2 + 1].

    .. math:: \mathrm{mel}(f) = 2595 \log_{10}(1 + f / 700), \quad
              M_{mf} = \max\Bigl(0, \min\Bigl(\frac{f - p_m}{p_{m+1} - p_m},
                                             \frac{p_{m+2} - f}{p_{m+2} - p_{m+1}}\Bigr)\Bigr)

    with m + 2 points p that are evenly spaced in mel from `low` to `high`. A filter that is narrower than the bin
    spacing may contain no bin: it is then zero, and its feature is the floor.

    >>> mel_filters(2, 8, 8, 0.0, 4.0).round(decimals=3)     # below 700 Hz nearly even: 0, 1.33, 2.67 and 4 Hz
    tensor([[0.0000, 0.7510, 0.4980, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.5020, 0.7490, 0.0000]], dtype=torch.float64)
    """
    begin, end = (2595.0 * math.log10(1.0 + hertz / 700.0) for hertz in (low, high))
    even = torch.linspace(begin, end, mels + 2, dtype=torch.float64, device="cpu")
    points = 700.0 * (10.0 ** (even / 2595.0) - 1.0)
    bins = torch.arange(transform // 2 + 1, dtype=torch.float64, device="cpu") * rate / transform
    left, peak, right = (points[i : i + mels].unsqueeze(1) for i in range(3))  # [mels, 1]
    return torch.minimum((bins - left) / (peak - left), (right - bins) / (right - peak)).clamp(min=0.0)


def deltas(features: Tensor, reach: int = 2) -> Tensor:
    r"""Compute the slope of each feature in time by least squares over 2n + 1 frames, [..., T, C] -> [..., T, C].

    .. math:: d_t = \frac{\sum_{k=1}^{n} k \, (x_{t+k} - x_{t-k})}{2 \sum_{k=1}^{n} k^2}

    The first and the last frame are repeated as padding.

    Args:
        features: x.
        reach: n.

    >>> deltas(torch.tensor([0.0, 2.0, 4.0, 6.0, 8.0]).unsqueeze(1)).squeeze(1)
    tensor([1.0000, 1.6000, 2.0000, 1.6000, 1.0000])
    """
    count = features.shape[-2]
    here = torch.arange(count, device=features.device)
    total = torch.zeros_like(features)
    for k in range(1, reach + 1):
        after, before = (here + k).clamp(max=count - 1), (here - k).clamp(min=0)
        # Clamped indices repeat the first and the last frame.
        total = total + k * (features.index_select(-2, after) - features.index_select(-2, before))
    return total / (2 * sum(k * k for k in range(1, reach + 1)))


@dataclass(frozen=True)
class Moments:
    """Mean and variance of each feature over the frames of a recording or a corpus.

    Attributes:
        count: number of frames.
        mean: mean of each feature, float64 [C].
        squares: sum of squared deviations from the mean, float64 [C].

    >>> moments = Moments.of(torch.tensor([[1.0], [3.0]])) + Moments.of(torch.tensor([[5.0]]))
    >>> moments.count, moments.mean, moments.variance
    (3, tensor([3.], dtype=torch.float64), tensor([2.6667], dtype=torch.float64))
    """

    count: int
    mean: Tensor
    squares: Tensor

    @staticmethod
    def of(features: Tensor) -> Moments:
        """Compute the moments of one recording, [T, C] without padding."""
        if features.dim() != 2 or not len(features):
            raise ValueError(f"moments: features must be [T, C] with T of at least 1; got {list(features.shape)}")
        exact = features.double()  # sums over a whole corpus lose precision in float32
        mean = exact.mean(0)
        return Moments(len(features), mean, (exact - mean).square().sum(0))

    def __add__(self, other: Moments) -> Moments:
        """Merge two moments in a numerically stable way (Chan, Golub & LeVeque 1979)."""
        count = self.count + other.count
        distance = other.mean - self.mean
        squares = self.squares + other.squares + distance.square() * (self.count * other.count / count)
        return Moments(count, self.mean + distance * (other.count / count), squares)

    @property
    def variance(self) -> Tensor:
        """Variance of each feature, [C]."""
        return self.squares / self.count

    def normalize(self, features: Tensor, *, floor: float = 1e-5) -> Tensor:
        """Normalise features [..., C] to mean 0 and variance 1 by these moments.

        Args:
            features: features with any leading dimensions.
            floor: minimum standard deviation; a silent recording has deviation 0 and becomes zeros.
        """
        deviation = self.variance.sqrt().clamp(min=floor)
        return ((features.double() - self.mean.to(features.device)) / deviation.to(features.device)).to(features.dtype)

    def restore(self, features: Tensor, *, floor: float = 1e-5) -> Tensor:
        """Invert `normalize`; a band without deviation becomes its mean."""
        deviation = self.variance.sqrt().clamp(min=floor)
        return (features.double() * deviation.to(features.device) + self.mean.to(features.device)).to(features.dtype)
