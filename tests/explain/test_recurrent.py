"""States and gates over time: those that the layers compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.explain.panel import CurvesPanel
from regard.explain.recurrent import recurrent_reads, recurrent_trace, state_panels
from tests.mechanism import assert_close


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_a_walk_is_what_torch_computes(kind: type[nn.RNNBase], bias: bool) -> None:
    layers = kind(3, 5, num_layers=2, bidirectional=True, batch_first=True, bias=bias)
    x, state = torch.randn(2, 7, 3), torch.randn(4, 2, 5)
    start = (state, torch.randn(4, 2, 5)) if kind is nn.LSTM else state
    outputs, ends = layers(x, start)
    found = recurrent_trace(layers, x, start)
    assert_close(torch.cat([found[2]["hidden state"], found[3]["hidden state"]], -1), outputs, tolerance=1e-6)
    if kind is nn.LSTM:
        assert_close(found[0]["cell"][:, -1], ends[1][0], tolerance=1e-6)
        assert_close(found[0]["output gate"] * found[0]["cell"].tanh(), found[0]["hidden state"], tolerance=1e-6)


def test_panels_are_of_the_first_sequence_with_its_words() -> None:
    model = nn.ModuleDict({"encoder": nn.LSTM(3, 60, batch_first=True)})
    with recurrent_reads(model) as reads:
        model["encoder"](torch.randn(2, 3, 3))
    gates, hidden, cell = state_panels(reads, ["a", "long", "story"])
    assert isinstance(gates, CurvesPanel)
    assert gates.rows == ("input gate", "forget gate", "output gate")
    assert gates.columns == hidden.columns == ("a", "long", "story")
    assert hidden.values.shape == cell.values.shape == (48, 3)
    assert hidden.title == "encoder: layer 1: hidden state, the 48 that change most"
    assert state_panels(reads, ["of", "another", "length", "!"])[0].columns == ()
