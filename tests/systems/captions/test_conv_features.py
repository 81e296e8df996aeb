"""The convolutional encoder of pictures."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.cuda_capture import recording
from regard.systems.captions.conv_features import ConvFeatures
from tests.mechanism import assert_close, check_gradients, on_the_device


def noise(model: torch.nn.Module) -> None:
    """Parameters and statistics that are nothing special."""
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
            tensor.uniform_(0.5, 1.5) if "variance" in name else tensor.normal_(std=0.3)


@pytest.mark.parametrize("norm", ["group", "batch"])
@pytest.mark.parametrize("channels", [1, 3])
def test_shapes(norm: str, channels: int) -> None:
    model = ConvFeatures(channels, width=5, depth=1, stages=3, scales=2, output_dim=7, norm=norm)
    encoded = model(torch.rand(2, channels, 37, 23))
    assert model.grids(37, 23) == [(5, 3), (10, 6)]
    assert encoded.states.shape == (2, 5 * 3 + 10 * 6, 7)
    assert encoded.summary.shape == (2, 7)
    assert encoded.mask is None
    assert encoded.state is None
    assert model.output_dim == 7
    assert ConvFeatures(width=3, stages=3).output_dim == 12


@pytest.mark.parametrize("norm", ["group", "batch"])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("positions", [False, True])
def test_padding_changes_nothing(norm: str, training: bool, positions: bool) -> None:
    """Each picture of a padded batch has the regions that it has alone; batch norm in training sees the batch."""
    model = ConvFeatures(3, width=6, depth=2, stages=3, scales=2, output_dim=7, norm=norm, positions=positions)
    noise(model.double().train(training))
    sizes = torch.tensor([[37, 41], [11, 17], [1, 1], [24, 41]])
    batch = torch.full((4, 3, 37, 41), torch.nan, dtype=torch.float64)
    for row, (height, width) in enumerate(sizes.tolist()):
        batch[row, :, :height, :width] = torch.rand(3, height, width)
    together = model(batch, sizes)
    assert torch.isfinite(together.states).all()
    allowed = together.mask.allowed((4, 1, 1, together.states.shape[1]))[:, 0, 0]
    assert (together.states[~allowed] == 0).all()
    if norm == "batch" and training:
        wider = torch.nn.functional.pad(batch, (0, 7, 0, 3), value=torch.nan)
        again = model(wider, sizes)
        assert_close(again.summary, together.summary, tolerance=1e-10)
        return
    for row, (height, width) in enumerate(sizes.tolist()):
        alone = model(batch[row : row + 1, :, :height, :width])
        assert_close(together.states[row][allowed[row]], alone.states[0], tolerance=1e-10)
        assert_close(together.summary[row], alone.summary[0], tolerance=1e-10)


def test_batch_statistics_are_those_of_the_pixels_that_are_there() -> None:
    """With and without lengths, a batch that nothing pads has the same outputs and leaves the same running ones."""
    first, second = (ConvFeatures(3, width=4, depth=1, stages=2, norm="batch").double() for _ in range(2))
    second.load_state_dict(first.state_dict())
    pictures = torch.rand(5, 3, 13, 11).double()
    plain, sized = first(pictures), second(pictures, torch.tensor([[13, 11]] * 5))
    assert_close(sized.states, plain.states, tolerance=1e-10)
    for (name, one), (_, other) in zip(first.named_buffers(), second.named_buffers(), strict=True):
        assert_close(one, other, tolerance=1e-10)
        assert "running" in name
        assert not torch.equal(one, torch.zeros_like(one))


def test_a_picture_of_no_size_has_no_regions() -> None:
    model = ConvFeatures(3, width=4, depth=1, stages=2)
    encoded = model(torch.rand(2, 3, 8, 8), torch.tensor([[0, 0], [8, 8]]))
    assert (encoded.states[0] == 0).all()
    assert (encoded.summary[0] == 0).all()
    encoded.states.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters() if parameter.grad is not None)


def test_bytes_are_floats_of_their_255th_part() -> None:
    pictures = torch.randint(0, 256, (2, 3, 9, 11), dtype=torch.uint8)
    model = ConvFeatures(3, width=4, depth=1, stages=2)
    assert torch.equal(model(pictures).states, model(pictures.float() / 255).states)


@pytest.mark.parametrize("norm", ["group", "batch"])
def test_gradients(norm: str) -> None:
    model = ConvFeatures(1, width=2, depth=1, stages=2, scales=2, output_dim=3, norm=norm).double()
    noise(model)
    sizes = torch.tensor([[5, 3], [4, 6]])

    def parts(pictures: torch.Tensor) -> tuple[torch.Tensor, ...]:
        encoded = model.eval()(pictures, sizes)
        whole = model.train()(pictures, sizes) if norm == "group" else encoded
        return encoded.states, encoded.summary, whole.states

    check_gradients(parts, torch.rand(2, 1, 5, 6))


def test_every_parameter_learns() -> None:
    model = ConvFeatures(3, width=4, depth=2, stages=3, scales=3, output_dim=5)
    noise(model)
    encoded = model(torch.rand(2, 3, 33, 29))
    encoded.states.square().sum().backward()
    assert all((parameter.grad != 0).any() for parameter in model.parameters() if parameter.grad is not None)
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_region_sees_what_is_near_it() -> None:
    """A change at the top left moves the regions there most and far ones not at all, where a norm does not join them;
    positions tell equal regions apart."""
    model = ConvFeatures(3, width=8, depth=1, stages=3, norm="batch", positions=False).eval()
    picture = torch.full((1, 3, 64, 64), 0.5)
    changed = picture.clone()
    changed[:, :, :8, :8] = 1.0
    distance = (model(changed).states - model(picture).states).norm(dim=2)[0]
    assert int(distance.argmax()) in (0, 1, 8, 9)
    assert (distance.unflatten(0, (8, 8))[4:, 4:] == 0).all()
    inner = torch.tensor([8 * 3 + 3, 8 * 4 + 4])  # far from the edges, where zeros begin
    assert_close(*model(picture).states[0, inner].double())
    placed = ConvFeatures(3, width=8, depth=1, stages=3)(picture).states[0, inner]
    assert (placed[0] - placed[1]).abs().max() > 1e-3


@pytest.mark.parametrize("norm", ["group", "batch"])
@pytest.mark.parametrize("sized", [False, True])
def test_it_can_be_recorded(norm: str, sized: bool) -> None:
    """No number goes to Python or comes from there, in training with its gradient."""
    model, pictures = ConvFeatures(3, width=4, depth=1, stages=2, scales=2, norm=norm), torch.rand(2, 3, 9, 11)
    sizes = torch.tensor([[9, 11], [5, 7]]) if sized else None
    with recording(), on_the_device():
        encoded = model(pictures, sizes)
        (encoded.states.sum() + encoded.summary.sum()).backward()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [({"norm": "layer"}, "'layer'"), ({"scales": 5}, "scales .* 5 and 4"), ({"width": 0}, "width .* 0")],
)
def test_arguments_that_are_none(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        ConvFeatures(**wrong)


def test_sources_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"source must be \[B, 3, H, W\].*\[2, 1, 7, 5\]"):
        ConvFeatures()(torch.rand(2, 1, 7, 5))
    with pytest.raises(ValueError, match=r"\[2, 2\]; got \[2\]"):
        ConvFeatures()(torch.rand(2, 3, 7, 5), torch.tensor([7, 5]))
