"""RNNsearch: the equations of the paper, written out."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.models import AttentionConfig, Bahdanau
from regard.nn import Additive, Attention, GlobalFertility
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, TARGET, WIDTHS, bahdanau, pairs


def test_is_the_equations() -> None:
    model, (source, _, target) = bahdanau().double(), pairs()
    source, target = source[:1], target[:1]
    predicted = model(source, None, target)
    states, end = model.encoder.layers(model.encoder.words(source))
    assert_close(end.hidden[:, 1], states[:, 0, 8:])  # the backward direction ends at the first word
    s = torch.tanh(model.bridge(states[0, 0, 8:]))
    score = model.attention.score
    gru = model.layers.layers
    w_input, w_state, b_input, b_state = (
        getattr(gru, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    for t, token in enumerate(target[0]):
        energy = torch.tanh(score.query_map(s) + score.key_map(states[0])) @ score.weight[0]
        alpha = energy.softmax(0)
        c, word = alpha @ states[0], model.words.table.weight[token]
        given, own = w_input @ torch.cat((word, c)) + b_input, w_state @ s + b_state
        r, z = (given[:8] + own[:8]).sigmoid(), (given[8:16] + own[8:16]).sigmoid()
        s = (1 - z) * torch.tanh(given[16:] + r * own[16:]) + z * s
        pre = model.readout(torch.cat((s, word, c)))
        logits = model.output_map(torch.maximum(pre[0::2], pre[1::2]))
        assert_close(predicted.attended.weights()[0, t], alpha, tolerance=1e-10)
        assert_close(predicted.logits[0, t], logits, tolerance=1e-10)


def test_parameter_count() -> None:
    """E = 6, D = 8, readout 6: embeddings, two encoder GRUs, s_0, score, decoder GRU, readout, output."""
    gru = 2 * 24 * (6 + 8 + 2) + 24 * (6 + 16 + 8 + 2)
    rest = (8 * 8 + 8) + (8 * 8 + 8 * 16 + 8) + 12 * (8 + 6 + 16 + 1) + TARGET * 7
    assert sum(p.numel() for p in bahdanau().parameters()) == 6 * (SOURCE + TARGET) + gru + rest


def test_any_reader_can_be_given() -> None:
    reader = Attention(Additive(8, 16, 3))
    assert bahdanau(attention=reader).attention is reader
    source, lengths, target = pairs()
    heads = bahdanau(attention=AttentionConfig(score="scaled_dot", num_heads=2))
    assert heads(source, lengths, target).attended.weights().shape == (3, 2, 7, 5)


def test_hard_attention_leaves_what_it_drew_in_the_extras() -> None:
    model, batch = bahdanau(attention=AttentionConfig(align={"name": "hard", "expectation_probability": 0.0})), pairs()
    extras = model(*batch).extras
    assert extras["sample_log_prob"].shape == (3, 1, 7)
    assert extras["sample_log_prob"].requires_grad
    model.eval()
    assert (model(*batch).extras["sample_key"] == -1).all()


def test_fertility_is_of_words_alone() -> None:
    model, (source, lengths, target) = bahdanau(fertility=4).double(), pairs()
    target[1, 5:] = 0
    predicted = model(source, lengths, target)
    assert isinstance(model.fertility, GlobalFertility)
    states, weights = model.encoder(source, lengths).states, predicted.attended.weights()
    for row, (rows, words) in enumerate([(6, 4), (4, 1), (6, 3)]):  # neither the row of EOS nor its column
        coverage = weights[row : row + 1, :rows, :words].sum(1)
        expected = model.fertility(coverage, states[row : row + 1, :words], Mask.padding([words]))
        assert_close(predicted.extras["fertility"][row], expected[0], tolerance=1e-10)
    predicted.extras["fertility"].sum().backward()
    assert model.attention.score.weight.grad.any()


def test_tied_embeddings_need_one_width() -> None:
    model = bahdanau(tied=True)
    assert model.output_map.weight is model.words.table.weight
    with pytest.raises(
        ValueError,
        match=r"tied embeddings need the output layer's input to be as wide .* got 5 and an embedding_dim of 6",
    ):
        Bahdanau(SOURCE, TARGET, **WIDTHS, readout_dim=5, tied=True)
