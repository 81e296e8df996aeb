"""Convolutions of several widths, and words alone, as encoders."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from regard.models import TextCNN, WordEncoder
from regard.models.build import build
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, pairs


def encoder(kind: str, **options: object) -> Any:
    given = {"kind": kind, "embedding_dim": 3, "hidden_dim": 7, **options}
    return build("transducer", SOURCE, 4, encoder=given).encoder.double().eval()


def test_filters_by_hand() -> None:
    """One filter that sums the word and the one before it, one that sums the word and both neighbours."""
    made = encoder("text_cnn", windows=(2, 3), embedding_dim=1, hidden_dim=2)
    with torch.no_grad():
        made.words.table.weight[4:8] = torch.tensor([[1.0], [2.0], [-8.0], [4.0]])
        for layer in made.layers:
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.bias)
    encoded = made(torch.tensor([[4, 5, 6, 7], [4, 5, 6, 7]]), torch.tensor([2, 4]))
    assert encoded.states[0].tolist() == [[1, 3], [3, 3], [0, 0], [0, 0]]
    assert encoded.states[1].tolist() == [[1, 3], [3, 0], [0, 0], [0, 0]]
    assert encoded.summary.tolist() == [[3, 3], [3, 3]]


@pytest.mark.parametrize(
    ("hidden_dim", "windows", "filters"), [(7, (3, 4, 5), [3, 2, 2]), (6, [2], [6]), (4, (1, 2), [2, 2])]
)
def test_filters_are_divided_among_windows(hidden_dim: int, windows: Any, filters: list[int]) -> None:
    made = encoder("text_cnn", hidden_dim=hidden_dim, windows=windows)
    assert isinstance(made, TextCNN)
    assert [layer.out_channels for layer in made.layers] == filters


@pytest.mark.parametrize(("window", "before", "behind"), [(1, 0, 0), (2, 0, 1), (3, 1, 1), (4, 1, 2), (5, 2, 2)])
def test_a_state_sees_its_window(window: int, before: int, behind: int) -> None:
    """A word is seen by the states whose windows it stands in."""
    made, source = encoder("text_cnn", windows=(window,)), torch.randint(4, SOURCE, (1, 13))
    source[0, 6], other = 4, source.clone()
    other[0, 6] = 5
    for layer in made.layers:
        nn.init.constant_(layer.bias, 9.0)  # nothing is rectified away
    changed = (made(source).states != made(other).states).any(2)[0]
    assert changed.nonzero().flatten().tolist() == list(range(6 - before, 6 + behind + 1))


@pytest.mark.parametrize("kind", ["text_cnn", "words"])
def test_padding_changes_nothing(kind: str) -> None:
    made, (source, lengths, _) = encoder(kind), pairs()
    together = made(source, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = made(source[row : row + 1, :length])
        assert_close(alone.states[0], together.states[row, :length], tolerance=1e-12)
        assert_close(alone.summary[0], together.summary[row], tolerance=1e-12)
        assert not together.states[row, length:].any()


@pytest.mark.parametrize("kind", ["text_cnn", "words"])
def test_texts_without_words(kind: str) -> None:
    made, (source, _, _) = encoder(kind), pairs()
    assert not made(torch.zeros(2, 0).long(), torch.tensor([0, 0])).summary.any()
    assert made(torch.zeros(2, 0).long()).states.shape == (2, 0, 7)
    assert not made(source, torch.tensor([5, 0, 4])).summary[1].any()


def test_words_alone_know_no_neighbours() -> None:
    made = encoder("words")
    assert isinstance(made, WordEncoder)
    source = torch.tensor([[5, 6, 7]])
    states = made(source).states[0]
    assert_close(states, made.words.table.weight[source[0]] @ made.output_map.weight.T, tolerance=1e-12)
    assert_close(made(source.flip(1)).states[0], states.flip(0), tolerance=1e-12)


def test_gradients() -> None:
    made, (source, lengths, _) = encoder("text_cnn", windows=(2, 3), hidden_dim=4), pairs()
    weight = made.layers[0].weight.detach().clone().requires_grad_()

    def states(weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(made, {"layers.0.weight": weight}, (source, lengths)).states

    assert torch.autograd.gradcheck(states, (weight,))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"windows": ()}, "at least one each; got 7 for 0 windows"),
        ({"hidden_dim": 2}, "at least one each; got 2 for 3 windows"),
    ],
)
def test_wrong_values(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        encoder("text_cnn", **options)
    with pytest.raises(ValueError, match=r"TextCNN.*\[B, S\]"):
        encoder("text_cnn")(torch.zeros(2, 3, 5))
