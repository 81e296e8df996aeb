"""The fifth note's decoder, written out."""

from __future__ import annotations

import torch

from regard.models import SimpleAttention
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, TARGET, WIDTHS, pairs


def test_is_the_equations() -> None:
    model = SimpleAttention(SOURCE, TARGET, **WIDTHS).double()
    source, _, target = (part[:1] for part in pairs())
    predicted = model(source, None, target)
    h = model.encoder.layers(model.encoder.words(source))[0][0]
    w_k, w_q = model.attention.score.key_map, model.attention.score.query_map
    rnn = model.layers.layers

    def read(s: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        alpha = (w_k(h) @ w_q(s)).softmax(0)
        return alpha, alpha @ h

    s = h[-1]
    _, c = read(s)
    for t, token in enumerate(target[0]):
        x = torch.cat((model.words.table.weight[token], c))
        s = torch.tanh(rnn.weight_ih_l0 @ x + rnn.weight_hh_l0 @ s + rnn.bias_ih_l0 + rnn.bias_hh_l0)
        alpha, c = read(s)
        assert_close(predicted.attended.weights()[0, t], alpha, tolerance=1e-10)
        assert_close(predicted.logits[0, t], model.output_map(torch.cat((s, c))), tolerance=1e-10)


def test_parameter_count() -> None:
    """E = 6, D = 8: embeddings, two Elman layers with two biases, W_Q and W_K, output on [s; c]."""
    model = SimpleAttention(SOURCE, TARGET, **WIDTHS)
    elman = 8 * (6 + 8 + 2) + 8 * (6 + 8 + 8 + 2)
    expected = 6 * (SOURCE + TARGET) + elman + 2 * 64 + TARGET * 17
    assert sum(p.numel() for p in model.parameters()) == expected
