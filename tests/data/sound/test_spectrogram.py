"""Log-mel features: by hand on a sine, equal to torchaudio's, and what is done to them before training."""

from __future__ import annotations

import math

import pytest
import torch

from regard.data.sound.spectrogram import LogMel, Moments, deltas, mel_filters
from tests.mechanism import assert_close

# torchaudio 2.11.0: MelSpectrogram(sample_rate=8000, n_fft=256, win_length=200, hop_length=80, n_mels=13, center=False)
# of `chord()` with a window in float64, but its filters in float32; the frames 0 and 3. It centres a window
# of 200 in 256 samples, so its frame t begins 28 samples after ours.
TORCHAUDIO = (
    [0.0006135787597, 0.04212759139, 517.1448737, 682.7445377, 0.06794144244,
     148.0501326, 151.9486519, 0.0009817090227, 9.430394626e-06, 8.782789723e-07,
     1.485773922e-07, 3.460315619e-08, 1.068999272e-08],
    [0.0002984167777, 0.04105913168, 517.1483023, 682.7414289, 0.06934613697,
     148.0499447, 151.9486308, 0.0009600727131, 9.003526716e-06, 9.113979325e-07,
     1.73424962e-07, 4.211184566e-08, 9.869682373e-09],
)  # fmt: skip


def chord() -> torch.Tensor:
    """440 Hz and 1 kHz, 0.2 s at 8,000 samples per second."""
    time = torch.arange(1600, dtype=torch.float64) / 8000
    return 0.5 * torch.sin(2 * math.pi * 440 * time) + 0.25 * torch.sin(2 * math.pi * 1000 * time + 0.5)


def test_shapes() -> None:
    features = LogMel(rate=8000, mels=13, deltas=2)
    assert features(torch.randn(1601)).shape == (18, 39)
    assert features(torch.randn(3, 1601)).shape == (3, features.frames(1601), features.dim)
    assert features(torch.randn(7)).shape == (1, 39)


def test_equal_to_torchaudio() -> None:
    ours = LogMel(rate=8000, mels=13, floor=1e-20)(chord()[28:]).exp()
    for frame, theirs in zip((0, 3), TORCHAUDIO, strict=True):
        assert_close(ours[frame] / torch.tensor(theirs, dtype=torch.float64), torch.ones(13), tolerance=1e-5)


def test_a_sine_by_hand() -> None:
    """A sine of amplitude a with a whole number of periods per window: a Hann window of W samples sums to W / 2, so
    the bin of the sine has the power (a W / 4)², and its neighbours, at half of the amplitude, a quarter of that."""
    rate, size, amplitude = 8192, 256, 0.5
    bins = torch.arange(size, dtype=torch.float64)
    sine = amplitude * torch.sin(2 * math.pi * 32 * bins / size)  # 1,024 Hz, bin 32
    features = LogMel(rate=rate, window=size / rate, hop=size / rate, mels=23)
    filters = mel_filters(23, size, rate, 0.0, rate / 2)
    power = (amplitude * size / 4) ** 2
    expected = filters[:, 32] * power + (filters[:, 31] + filters[:, 33]) * power / 4
    assert_close(features(sine)[0].exp(), expected.clamp(min=1e-10), tolerance=1e-8)


def test_a_frame_is_the_samples_that_it_should_be() -> None:
    """A click at sample 1,000 is in the frames t with 80 t <= 1,000 < 80 t + 200: from 880 and from 960."""
    click = torch.zeros(1600)
    click[1000] = 1.0
    loud = LogMel(rate=8000)(click).amax(1) > math.log(1e-10) + 1
    assert loud.nonzero().flatten().tolist() == [11, 12]
    assert (LogMel(rate=8000)(torch.zeros(1600)) == LogMel(rate=8000)(torch.zeros(1))[0]).all()


def test_filters_are_triangles_that_overlap() -> None:
    """Between the first and the last peak any two neighbours sum to one."""
    filters = mel_filters(13, 1024, 8000, 0.0, 4000.0)
    peaks = filters.argmax(1)
    assert_close(filters[:, peaks[0] + 1 : peaks[-1]].sum(0), torch.ones(int(peaks[-1] - peaks[0]) - 1))
    assert (peaks.diff() > 0).all()
    assert (filters[:, 0] == 0).all()


def test_deltas_by_hand() -> None:
    """Equal to torchaudio.functional.compute_deltas of the same row."""
    row = torch.tensor([[1.0, 4, 9, 16, 25, 37, 50]]).T
    assert_close(deltas(row).T, [[1.9, 3.8, 6.0, 8.2, 10.3, 9.3, 6.3]])
    assert_close(deltas(3.0 * torch.arange(11.0).unsqueeze(1) + 5)[2:-2], torch.full((7, 1), 3.0))
    assert deltas(torch.ones(1, 5)).tolist() == [[0.0] * 5]
    features = LogMel(rate=8000, mels=13, deltas=2)(chord())
    assert_close(features[:, 26:], deltas(deltas(features[:, :13])))


def test_moments_of_parts_are_those_of_the_whole() -> None:
    frames = torch.randn(97, 5) * 3 + 1000
    whole = Moments.of(frames)
    parts = Moments.of(frames[:31]) + Moments.of(frames[31:32]) + Moments.of(frames[32:])
    assert parts.count == 97
    assert_close(parts.mean, whole.mean, tolerance=1e-9)
    assert_close(parts.variance, frames.double().var(0, correction=0), tolerance=1e-9)
    normal = parts.normalize(frames)
    assert normal.dtype == frames.dtype
    assert_close(normal.double().mean(0), torch.zeros(5), tolerance=1e-4)
    assert_close(normal.double().var(0, correction=0), torch.ones(5), tolerance=1e-4)


def test_silence_is_normalised_to_zeros() -> None:
    silent = LogMel(rate=8000)(torch.zeros(800))
    assert (Moments.of(silent).normalize(silent) == 0).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"hop": 0.0}, "hop of 0.0"),
        ({"high": 9000.0}, "9000"),
        ({"low": 5000.0}, "5000"),
        ({"mels": 0}, "mels"),
        ({"deltas": 3}, "deltas"),
    ],
)
def test_settings_that_are_none(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LogMel(**{"rate": 8000, **wrong})  # type: ignore[arg-type]


def test_samples_that_are_none() -> None:
    for samples in (torch.zeros(0), torch.zeros(2, 3, 5), torch.ones(7, dtype=torch.long)):
        with pytest.raises(ValueError, match="samples must be floats"):
            LogMel()(samples)
    with pytest.raises(ValueError, match=r"\[0, 5\]"):
        Moments.of(torch.zeros(0, 5))
