"""Other voices: speed, vocal tract and gain of log-mel frames."""

from __future__ import annotations

import math

import pytest
import torch

from regard.data.sound.spectrogram import LogMel
from regard.systems.speech.voices import Voices, _warped_bands
from tests.mechanism import assert_close

MEL = LogMel(rate=8000, mels=31)


def changed(
    voices: Voices, bands: torch.Tensor, lengths: list[int], *, epoch: int = 0
) -> tuple[torch.Tensor, list[int]]:
    numbers = list(range(5, 5 + len(lengths)))
    found, after = voices(bands, torch.tensor(lengths), numbers, mel=MEL, seed=1, epoch=epoch)
    return found, after.tolist()


def test_without_settings_nothing_changes() -> None:
    bands = torch.randn(2, 11, 31)
    bands[1, 7:] = 0
    found, lengths = changed(Voices(), bands, [11, 7])
    assert lengths == [11, 7]
    assert_close(found, bands, tolerance=1e-6)


def test_a_ramp_in_time_stays_a_ramp_of_another_slope() -> None:
    bands = torch.arange(100.0)[None, :, None].expand(1, 100, 31)
    found, (size,) = changed(Voices(speed=0.4), bands, [100])
    assert 60 <= size <= 140
    assert size != 100
    slope = found[0, 1, 0] - found[0, 0, 0]
    assert math.ceil(100 / slope) == pytest.approx(size, abs=1)
    assert_close(found[0, : size - 2, 3].diff(), slope.expand(size - 3), tolerance=1e-3)


def test_bands_are_read_where_their_frequency_times_a_factor_lies() -> None:
    places = _warped_bands(torch.tensor([1.0, 0.8, 1.3], dtype=torch.float64), MEL)
    assert_close(places[0], torch.arange(31.0).double(), tolerance=1e-9)
    step = 2595 * math.log10(1 + 4000 / 700) / 32
    hertz = 700 * (10 ** (11 * step / 2595) - 1)  # the centre of band 10
    for row, factor in ((1, 0.8), (2, 1.3)):
        expected = 2595 * math.log10(1 + factor * hertz / 700) / step - 1
        assert float(places[row, 10]) == pytest.approx(expected)
    assert places[2].max() == 30  # beyond the highest band lies that one


def test_a_tone_moves_to_another_band() -> None:
    tone = torch.sin(2 * math.pi * 1000 * torch.arange(1600) / 8000).float()
    bands = MEL(tone).unsqueeze(0)
    each = [changed(Voices(tract=0.4), bands, [bands.shape[1]], epoch=epoch)[0] for epoch in range(5)]
    peaks = {int(found[0, 3].argmax()) for found in each}
    assert max(peaks) - min(peaks) >= 3


def test_gain_is_in_decibels_and_padding_stays_zero() -> None:
    bands = torch.zeros(2, 11, 31)
    found, _ = changed(Voices(gain=20.0), bands, [11, 7])
    level = found[:, 0, 0]
    assert level.abs().max() <= 20 * math.log(10) / 10
    assert level[0] != level[1]
    assert_close(found[1, :7], level[1].expand(7, 31), tolerance=1e-6)
    assert not found[1, 7:].any()


def test_alone_as_in_a_batch_and_anew_in_each_epoch() -> None:
    voices = Voices(speed=0.2, tract=0.2, gain=3.0)
    bands = torch.randn(2, 11, 31)
    (together, sizes), (again, _), (later, _) = (changed(voices, bands, [11, 7], epoch=epoch) for epoch in (0, 0, 1))
    alone, size = voices(bands[1:, :7], torch.tensor([7]), [6], mel=MEL, seed=1, epoch=0)
    assert size.tolist() == sizes[1:]
    assert_close(together[1, : sizes[1]], alone[0], tolerance=1e-6)
    assert torch.equal(together, again)
    assert together.shape != later.shape or not torch.equal(together, later)


@pytest.mark.parametrize("settings", [{"speed": 1.0}, {"tract": -0.1}, {"gain": -1.0}])
def test_settings_out_of_range_are_named(settings: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        Voices(**settings)
