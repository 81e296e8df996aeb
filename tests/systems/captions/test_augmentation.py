"""Augmentation of pictures: what it changes, and that nothing but seed, epoch and example decides it."""

from __future__ import annotations

import pytest
import torch

from regard.systems.captions.augmentation import PictureAugmentation
from tests.mechanism import assert_close

ALL = PictureAugmentation(crop=0.7, flip=True, brightness=0.3, contrast=0.3, saturation=0.3)


def pictures(count: int = 5, channels: int = 3) -> torch.Tensor:
    return torch.randint(0, 256, (count, channels, 11, 13), dtype=torch.uint8)


@pytest.mark.parametrize("channels", [1, 3])
def test_an_example_is_changed_alike_in_every_batch(channels: int) -> None:
    before, examples = pictures(channels=channels), [17, 3, 0, 99, 4]
    together = ALL(before, examples, seed=1, epoch=2)
    for row, example in enumerate(examples):
        assert torch.equal(ALL(before[row : row + 1], [example], seed=1, epoch=2)[0], together[row])
    assert not torch.equal(ALL(before, examples, seed=1, epoch=3), together)
    assert not torch.equal(ALL(before, examples, seed=2, epoch=2), together)


def test_nothing_is_changed_unless_it_is_switched_on() -> None:
    before = pictures()
    assert torch.equal(PictureAugmentation()(before, range(5), seed=0, epoch=0), before)
    floats = before.double() / 255
    assert torch.equal(PictureAugmentation()(floats, range(5), seed=0, epoch=0), floats)


def test_a_flip_is_a_mirror_for_half_of_them() -> None:
    before = pictures(400)
    after = PictureAugmentation(flip=True)(before, range(400), seed=3, epoch=0)
    mirrored = (after == before.flip(3)).flatten(1).all(1)
    assert torch.equal(mirrored, ~(after == before).flatten(1).all(1))
    assert abs(int(mirrored.sum()) - 200) < 5 * 10


def test_a_crop_is_a_part_of_the_picture() -> None:
    """Of a ramp from 0 to 1 a crop is a ramp that is less steep: by the share that it kept, 0.5 to 1."""
    ramp = torch.linspace(0, 1, 33, dtype=torch.float64).expand(300, 1, 9, 33)
    after = PictureAugmentation(crop=0.5)(ramp, range(300), seed=0, epoch=0)
    slope = (after[:, 0, 4, 20] - after[:, 0, 4, 12]) * 32 / 8
    assert slope.min() >= 0.5 - 1e-9
    assert slope.max() <= 1.0 + 1e-9
    assert slope.min() < 0.52
    assert slope.max() > 0.98
    assert after.min() >= 0.0
    assert after.max() <= 1.0


def test_colours_by_hand() -> None:
    """Two greys, 0.2 and 0.6, have the mean 0.4: contrast f makes them 0.4 ± 0.2 f, brightness multiplies."""
    grey = torch.tensor([0.2, 0.6], dtype=torch.float64).expand(200, 3, 2, 2)
    contrast = PictureAugmentation(contrast=0.5)(grey, range(200), seed=0, epoch=0)
    assert_close(contrast[:, 0, 0].sum(1), torch.full((200,), 0.8, dtype=torch.float64))
    factor = (contrast[:, 0, 0, 1] - 0.4) / 0.2
    assert 0.5 <= factor.min() < 0.55
    assert 1.45 < factor.max() <= 1.5
    bright = PictureAugmentation(brightness=0.5)(grey, range(200), seed=0, epoch=0)
    assert_close(bright[:, 0, 0, 1] / bright[:, 0, 0, 0], torch.full((200,), 3.0, dtype=torch.float64))
    saturated = PictureAugmentation(saturation=0.9)(grey, range(200), seed=0, epoch=0)
    assert_close(saturated, grey)  # grey has no colour to strengthen


def test_bad_settings_and_shapes_are_named() -> None:
    for wrong in ({"crop": 0.0}, {"contrast": 1.5}, {"brightness": -0.1}):
        key, value = next(iter(wrong.items()))
        with pytest.raises(ValueError, match=f"{key}.*{value}"):
            PictureAugmentation(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"\[5, 3, 11, 13\] and 4"):
        ALL(pictures(), range(4), seed=0, epoch=0)
