"""SpecAugment: what is hidden, how much of it, and that nothing but seed, epoch and example decides it."""

from __future__ import annotations

import pytest
import torch

from regard.systems.speech.spec_augment import SpecAugment
from tests.mechanism import assert_close

ALL = SpecAugment(time_warp=5)


def test_an_example_is_changed_alike_in_every_batch() -> None:
    features, lengths, examples = torch.randn(5, 101, 17), torch.tensor([101, 53, 11, 2, 1]), [17, 3, 0, 99, 4]
    together = ALL(features, lengths, examples, seed=1, epoch=2)
    for row, length in enumerate(lengths.tolist()):
        alone = ALL(features[row : row + 1, :length], lengths[row : row + 1], [examples[row]], seed=1, epoch=2)
        assert torch.equal(alone[0], together[row, :length])
    assert torch.equal(together[1, 53:], features[1, 53:])
    assert not torch.equal(ALL(features, lengths, examples, seed=1, epoch=3), together)
    assert torch.equal(
        ALL(features[:1], None, [17], seed=1, epoch=2), ALL(features[:1], lengths[:1], [17], seed=1, epoch=2)
    )


def test_masks_are_whole_bands_and_stretches_of_the_right_width() -> None:
    policy = SpecAugment(frequency_masks=1, frequency_width=7, time_masks=1, time_width=13, time_share=0.1)
    hidden = policy(torch.ones(2000, 50, 19), None, range(2000), seed=0, epoch=0) == 0
    bands, times = hidden.all(1).sum(1), hidden.all(2).sum(1)
    assert torch.equal(hidden, hidden.all(1).unsqueeze(1) | hidden.all(2).unsqueeze(2))
    assert sorted(bands.unique().tolist()) == list(range(8))
    assert sorted(times.unique().tolist()) == list(range(6))  # a tenth of 50
    assert abs(bands.double().mean() - 3.5) < 5 * 2.3 / 2000**0.5
    starts = hidden.all(1).int().argmax(1)[bands == 7]
    assert (starts.min(), starts.max()) == (0, 12)


def test_the_share_of_time_bounds_short_recordings() -> None:
    features, lengths = torch.ones(500, 40, 3), torch.full((500,), 20)
    hidden = SpecAugment(frequency_masks=0, time_masks=1, time_width=99)(features, lengths, range(500), seed=0, epoch=0)
    assert (hidden[:, 20:] == 1).all()
    assert (hidden == 0).all(2).sum(1).max() == 4  # a fifth of 20


def test_nothing_switched_on_changes_nothing() -> None:
    features = torch.randn(3, 31, 7)
    nothing = SpecAugment(frequency_masks=0, time_masks=0)
    assert torch.equal(nothing(features, None, range(3), seed=0, epoch=0), features)


def test_a_warp_bends_time_and_keeps_its_ends() -> None:
    """Of a ramp over time the warped ramp is one that rises, with two slopes, and has the same ends."""
    ramp = torch.arange(61, dtype=torch.float64).expand(300, 61)[..., None]
    warp = SpecAugment(frequency_masks=0, time_masks=0, time_warp=9)
    bent = warp(ramp, None, range(300), seed=0, epoch=0)[..., 0]
    assert_close(bent[:, 0], torch.zeros(300))
    assert_close(bent[:, -1], torch.full((300,), 60.0))
    assert (bent.diff(dim=1) > 0).all()
    moved = (bent - ramp[..., 0]).abs().amax(1)
    assert 8 < moved.max() <= 9 + 1e-9
    assert ((bent.diff(dim=1).diff(dim=1).abs() > 1e-9).sum(1) <= 2).all()


def test_bad_settings_and_shapes_are_named() -> None:
    for wrong in ({"time_masks": -1}, {"time_share": 1.5}):
        key, value = next(iter(wrong.items()))
        with pytest.raises(ValueError, match=f"{key}.*{value}"):
            SpecAugment(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\[2, 3, 5\] and 1"):
        ALL(torch.zeros(2, 3, 5), None, [1], seed=0, epoch=0)
