"""The convolutional encoder."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.models import ConvEncoder
from regard.models.build import build
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, pairs


def encoder(**options: object) -> ConvEncoder:
    made = build("transducer", SOURCE, 4, encoder={"kind": "conv", "hidden_dim": 6, "num_layers": 2, **options}).encoder
    assert isinstance(made, ConvEncoder)
    return made.double().eval()


def test_shapes_and_padding() -> None:
    source, lengths, _ = pairs()
    encoded = encoder()(source, lengths)
    assert encoded.states.shape == (3, 5, 6)
    assert encoded.summary.shape == (3, 6)
    assert encoded.state is None
    assert not encoded.states[1, 2:].any()
    assert_close(encoded.summary[1], encoded.states[1, :2].mean(0), tolerance=1e-12)


def test_a_layer_by_hand() -> None:
    """One filter over the word before, the word and the word behind: a = x_{s-1} + x_{s+1}, b = 0, σ(b) = 1/2."""
    model = encoder(num_layers=1, hidden_dim=1, positions="none")
    (layer,) = model.layers
    assert isinstance(layer, nn.Conv1d)
    with torch.no_grad():
        model.words.table.weight[4:8] = torch.tensor([[1.0], [2.0], [4.0], [8.0]])
        layer.weight.copy_(torch.tensor([[[1.0, 0.0, 1.0]], [[0.0, 0.0, 0.0]]]))
    states = model(torch.tensor([[4, 5, 6, 7]]), torch.tensor([3])).states[0, :, 0]
    expected = torch.tensor([1 + 2 / 2, 2 + (1 + 4) / 2, 4 + 2 / 2, 0.0]).double() / 2**0.5  # the fourth is padding
    assert_close(states, expected, tolerance=1e-12)


@pytest.mark.parametrize(("num_layers", "window", "reach"), [(1, 3, 1), (2, 3, 2), (2, 5, 4), (3, 1, 0)])
def test_a_state_sees_as_far_as_its_windows(num_layers: int, window: int, reach: int) -> None:
    model, source = encoder(num_layers=num_layers, window=window), torch.randint(4, SOURCE, (1, 13))
    source[0, 6], other = 4, source.clone()
    other[0, 6] = 5
    changed = (model(source).states != model(other).states).any(2)[0]
    assert changed.nonzero().flatten().tolist() == list(range(6 - reach, 6 + reach + 1))


@pytest.mark.parametrize("window", [1, 3, 7])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_padding_changes_nothing(window: int, positions: str) -> None:
    model, (source, lengths, _) = encoder(window=window, positions=positions, max_length=9), pairs()
    together = model(source, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = model(source[row : row + 1, :length])
        assert_close(alone.states[0], together.states[row, :length], tolerance=1e-12)
        assert_close(alone.summary[0], together.summary[row], tolerance=1e-12)


def test_layers_keep_the_variance_of_what_they_read() -> None:
    """Each multiplies it by 1 to 1.3; with the initial weights of torch each would halve it."""
    torch.manual_seed(0)
    model = ConvEncoder(500, hidden_dim=128, num_layers=8, dropout=0.0, positions="none")
    source = torch.randint(4, 500, (17, 31))
    growth = model(source).states.detach().var() / model.words(source).detach().var()
    assert 1.0 < float(growth ** (1 / 8)) < 1.3


def test_gradients() -> None:
    model, (source, lengths, _) = encoder(hidden_dim=2), pairs()
    (layer, _) = model.layers
    assert isinstance(layer, nn.Conv1d)

    def states(weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(model, {"layers.0.weight": weight}, (source, lengths)).states

    assert torch.autograd.gradcheck(states, (layer.weight.detach().clone().requires_grad_(),))


def test_sources_without_words() -> None:
    model = encoder()
    assert not model(torch.zeros(2, 0).long(), torch.tensor([0, 0])).summary.any()
    source, _, _ = pairs()
    assert not model(source, torch.tensor([5, 0, 4])).summary[1].any()


def test_wrong_values() -> None:
    with pytest.raises(ValueError, match=r"window.*got 4"):
        encoder(window=4)
    with pytest.raises(ValueError, match="rotary"):
        encoder(positions="rotary")
    with pytest.raises(ValueError, match=r"num_layers.*got 0"):
        encoder(num_layers=0)
    with pytest.raises(ValueError, match=r"ConvEncoder.*\[B, S\]"):
        encoder()(torch.zeros(2, 3, 5))


def test_acceptors_and_transducers_take_it() -> None:
    source, lengths, _ = pairs()
    inside = {"kind": "conv", "hidden_dim": 6, "num_layers": 2, "window": 5}
    for pooling in ("last", "mean", "max", "attention"):
        assert build("acceptor", SOURCE, 4, encoder=inside, pooling=pooling)(source, lengths).logits.shape == (3, 4)
    assert build("transducer", SOURCE, 4, encoder=inside)(source, lengths).logits.shape == (3, 5, 4)
