"""Luong's decoder: the current state asks, the attentional vector predicts and is fed on."""

from __future__ import annotations

import pytest
import torch

from regard.models import AttentionConfig
from regard.nn import Cells
from regard.nn.cells import cell_step
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, TARGET, luong, pairs


@pytest.mark.parametrize("feeding", [True, False])
def test_is_the_equations(feeding: bool) -> None:
    model, (source, _, target) = luong(feeding=feeding, attention=AttentionConfig(score="dot")).double(), pairs()
    source, target = source[:1], target[:1]
    predicted = model(source, None, target)
    states, end = model.encoder.layers(model.encoder.words(source))
    now, fed = end.layer(0), torch.zeros(1, 8).double()  # the decoder starts where the encoder ended
    for t, token in enumerate(target[0]):
        word = model.words.table.weight[token].unsqueeze(0)
        now = cell_step("lstm", torch.cat((word, fed), 1) if feeding else word, now, model.layers.weights(0))
        alpha = (states[0] @ now.hidden[0]).softmax(0)
        fed = torch.tanh(torch.cat((alpha @ states[0], now.hidden[0])) @ model.attentional_map.weight.T).unsqueeze(0)
        assert_close(predicted.attended.weights()[0, t], alpha, tolerance=1e-10)
        assert_close(predicted.logits[0, t], model.output_map(fed)[0], tolerance=1e-10)


def test_feeding_widens_the_first_layer_only() -> None:
    cells = Cells(kind="lstm", num_layers=2)
    fed, plain = luong(cells=cells), luong(cells=cells, feeding=False)
    assert fed.layers.layers.weight_ih_l0.shape == (32, 6 + 8)
    assert plain.layers.layers.weight_ih_l0.shape == (32, 6)
    assert fed.layers.layers.weight_ih_l1.shape == plain.layers.layers.weight_ih_l1.shape == (32, 8)


def test_parameter_count() -> None:
    """E = 6, D = 8, general score: embeddings, two LSTMs, W_a, W_c, output."""
    lstm = 32 * (6 + 8 + 2) + 32 * (6 + 8 + 8 + 2)
    counted = sum(p.numel() for p in luong().parameters())
    assert counted == 6 * (SOURCE + TARGET) + lstm + 8 * 8 + 8 * 16 + TARGET * 9


def test_the_window_follows_the_step() -> None:
    model, (source, lengths, target) = luong(attention=AttentionConfig(align={"name": "local_m", "window": 1})), pairs()
    weights = model(source, lengths, target).attended.weights()
    assert [(weights[0, t] > 0).nonzero().flatten().tolist() for t in (0, 2)] == [[0, 1], [1, 2, 3]]


def test_variational_dropout_keeps_its_channels_over_the_steps() -> None:
    cells = Cells(kind="lstm", num_layers=2, recurrent_dropout=0.5, dropout=0.5, variational=True)
    model, (source, lengths, target) = luong(cells=cells), pairs()
    state = model.start(source, lengths)
    first = model.step(target[:, 0], state).state
    second = model.step(target[:, 1], first).state
    assert first.layers.noise
    assert all(torch.equal(a, b) for a, b in zip(first.layers.noise, second.layers.noise, strict=True))


def test_the_dot_score_needs_one_width() -> None:
    with pytest.raises(ValueError, match="the score 'dot' needs queries and keys of one width; got 3 and 5"):
        AttentionConfig(score="dot")(3, 5)
