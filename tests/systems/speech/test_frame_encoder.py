"""The encoder of frames: a pyramid of bidirectional LSTMs behind convolutions."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.cuda_capture import recording
from regard.systems.speech.frame_encoder import FrameConvolutions, FrameEncoder, half_lengths, join_frame_pairs
from tests.mechanism import assert_close, check_gradients, on_the_device

KINDS: list[dict[str, Any]] = [
    {"pyramid": 0},
    {"pyramid": 2},
    {"pyramid": 1, "convolutions": (3,)},
    {"pyramid": 2, "convolutions": (3, 5), "strides": (3, 1), "cells": "gru"},
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_shapes(kind: dict[str, Any]) -> None:
    model = FrameEncoder(13, hidden_dim=14, **kind)
    lengths = torch.tensor([53, 29, 1])
    encoded = model(torch.randn(3, 53, 13), lengths)
    size = int(model.output_lengths(torch.tensor(53)))
    assert encoded.states.shape == (3, size, 14)
    assert encoded.summary.shape == (3, 14)
    assert encoded.state.hidden.shape == (3, 1 + kind["pyramid"], 14)
    assert torch.equal(encoded.mask.lengths(3, size), model.output_lengths(lengths))
    assert model(torch.randn(3, 53, 13)).mask is None


def test_lengths_by_hand() -> None:
    """97 frames: 49 after a stride of 2, then 25 and 13; 3 frames: 2, 1, 1; none stay none."""
    model = FrameEncoder(7, hidden_dim=2, pyramid=2, convolutions=(3,))
    assert model.output_lengths(torch.tensor([97, 3, 1, 0])).tolist() == [13, 1, 1, 0]
    assert half_lengths(torch.tensor([5, 4, 1, 0])).tolist() == [3, 2, 1, 0]


def test_pairs_by_hand() -> None:
    states = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    assert join_frame_pairs(states).tolist() == [[[1, 2, 3, 4], [5, 6, 0, 0]]]
    assert join_frame_pairs(states[:, :0]).shape == (1, 0, 4)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("recorded", [False, True])
def test_padding_changes_nothing(kind: dict[str, Any], recorded: bool) -> None:
    model = FrameEncoder(11, hidden_dim=6, **kind).double()
    lengths = torch.tensor([31, 30, 17, 2, 1])
    batch = torch.randn(5, 31, 11).double()
    for row, length in enumerate(lengths.tolist()):
        batch[row, length:] = 99.0
    if recorded:
        with recording():
            together = model(batch, lengths)
    else:
        together = model(batch, lengths)
    for row, (length, end) in enumerate(zip(lengths.tolist(), model.output_lengths(lengths).tolist(), strict=True)):
        alone = model(batch[row : row + 1, :length])
        assert_close(together.states[row, :end], alone.states[0], tolerance=1e-10)
        assert (together.states[row, end:] == 0).all()
        assert_close(together.summary[row], alone.summary[0], tolerance=1e-10)
        assert_close(together.state.hidden[row], alone.state.hidden[0], tolerance=1e-10)


def test_a_sequence_of_no_frames_has_zero_states() -> None:
    model = FrameEncoder(11, hidden_dim=6, pyramid=1, convolutions=(3,))
    encoded = model(torch.randn(2, 9, 11), torch.tensor([9, 0]))
    assert (encoded.states[1] == 0).all()
    assert (encoded.summary[1] == 0).all()


@pytest.mark.parametrize("kind", [{"pyramid": 1}, {"pyramid": 0, "convolutions": (2,)}], ids=str)
def test_gradients(kind: dict[str, Any]) -> None:
    model = FrameEncoder(3, hidden_dim=4, **kind).double()

    def parts(frames: torch.Tensor) -> tuple[torch.Tensor, ...]:
        encoded = model(frames, torch.tensor([5, 3]))
        return encoded.states, encoded.summary

    check_gradients(parts, torch.randn(2, 5, 3))


def test_the_pyramid_is_the_layers_by_hand() -> None:
    """Equation 5 of the paper: the second layer reads [h_2i; h_2i+1] of the first."""
    model = FrameEncoder(5, hidden_dim=6, pyramid=1).double()
    frames = torch.randn(2, 8, 5).double()
    first, _ = model.layers[0](frames)
    second, _ = model.layers[1](torch.cat((first[:, 0::2], first[:, 1::2]), dim=2))
    assert_close(model(frames).states, second, tolerance=1e-12)


def test_a_convolution_sees_its_neighbours_only() -> None:
    front = FrameConvolutions(6, (2, 3), (2, 1)).double()
    frames = torch.randn(1, 24, 6).double()
    changed = frames.clone()
    changed[:, 12] += 1.0
    moved = (front(changed, None)[0] != front(frames, None)[0]).any(2)[0].nonzero().flatten().tolist()
    assert set(moved) <= {5, 6, 7}
    assert 6 in moved
    assert front(frames, None)[0].shape == (1, 12, front.output_dim)
    same, lengths = FrameConvolutions(6, ())(frames, None)
    assert torch.equal(same, frames)
    assert lengths is None


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_it_can_be_recorded(kind: dict[str, Any]) -> None:
    """No number goes to Python or comes from there, in training with its gradient."""
    model, frames, lengths = FrameEncoder(11, hidden_dim=6, **kind), torch.randn(2, 17, 11), torch.tensor([17, 5])
    with recording(), on_the_device():
        encoded = model(frames, lengths)
        (encoded.states.sum() + encoded.summary.sum()).backward()


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"hidden_dim": 7}, "7"),
        ({"pyramid": -1}, "pyramid"),
        ({"convolutions": (3,), "strides": (2, 2)}, r"\[3\] and \[2, 2\]"),
        ({"convolutions": (3,), "strides": (0,)}, r"\[0\]"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_arguments_that_are_none(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        FrameEncoder(5, **wrong)


def test_sources_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"\[B, T, 5\]; got \[2, 3, 7\]"):
        FrameEncoder(5)(torch.randn(2, 3, 7))
