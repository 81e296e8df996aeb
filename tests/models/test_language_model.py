"""Recurrent language models, plain and with attention to their own past."""

from __future__ import annotations

import pytest
import torch

from regard.models import AttentionConfig, CharRNN, LanguageModel
from regard.nn import Cells
from tests.mechanism import assert_close
from tests.models.systems import TARGET, WIDTHS, pairs


def test_zarembas_small_model_has_his_parameters() -> None:
    """V = 10,000, two layers of 200: 2 x 4 x 200 x (200 + 200 + 2), embeddings, output with its bias."""
    with torch.device("meta"):
        model = LanguageModel(10_000, cells=Cells(kind="lstm", num_layers=2))
        tied = LanguageModel(10_000, cells=Cells(kind="lstm", num_layers=2), tied=True)
    expected = 2 * 800 * 402 + 10_000 * 200 + 10_000 * 201
    assert sum(p.numel() for p in model.parameters()) == expected
    assert sum(p.numel() for p in tied.parameters()) == expected - 10_000 * 200


def test_locked_dropout_drops_the_same_channels_at_all_steps() -> None:
    model = LanguageModel(TARGET, **WIDTHS, cells=Cells(kind="lstm", variational=True), dropout=0.5)
    dropped = model.dropout(torch.ones(3, 7, 6))
    assert (dropped == dropped[:, :1]).all()
    assert 0.0 < (dropped == 0).float().mean() < 1.0
    fresh = LanguageModel(TARGET, **WIDTHS, dropout=0.5).dropout(torch.ones(3, 7, 6))
    assert not (fresh == fresh[:, :1]).all()


def test_embedding_dropout_drops_words_and_scales_the_others() -> None:
    model = LanguageModel(TARGET, **WIDTHS, embedding_dropout=0.5)
    text = torch.arange(TARGET).repeat(3, 2)
    plain, dropped = model.words(text), model.embed(text, model.start(batch=3))
    kept = dropped.abs().sum(-1) > 0  # [B, T]
    assert (kept == kept[:1, :TARGET].repeat(3, 2)).all()  # a word is dropped everywhere or nowhere
    assert 0 < int(kept[0, 1:TARGET].sum()) < TARGET - 1
    assert_close(dropped[kept], 2 * plain[kept])
    assert_close(model.eval().embed(text, model.start(batch=3)), plain)


def test_outputs_before_and_after_dropout() -> None:
    model = LanguageModel(TARGET, **WIDTHS, dropout=0.5)
    predicted = model(pairs()[2])
    outputs, dropped = predicted.extras["outputs"], predicted.extras["dropped"]
    assert_close(predicted.logits, model.output_map(dropped))
    assert_close(dropped[dropped != 0], 2 * outputs[dropped != 0])
    assert (dropped == 0).any()


def test_char_rnn_is_the_equations() -> None:
    model = CharRNN(TARGET, **WIDTHS, attention=AttentionConfig(score="dot").make_score).double()
    text = pairs()[2][:1]
    predicted = model(text)
    h = model.layers(model.words(text))[0][0]
    assert_close(predicted.attended.weights()[0, 0], [0.0] * 6)
    for t in range(7):
        alpha = (h[:t] @ h[t]).softmax(0)
        c = alpha @ h[:t] if t else torch.zeros_like(h[0])
        expected = model.output_map(torch.tanh(model.attentional_map(torch.cat((c, h[t])))))
        assert_close(predicted.logits[0, t], expected, tolerance=1e-10)
        assert_close(predicted.attended.weights()[0, t, :t], alpha, tolerance=1e-10)


def test_char_rnn_can_read_what_came_next() -> None:
    """A state of the past is found by its key, and the one after it is read; the newest has nothing after it yet."""
    model = CharRNN(TARGET, **WIDTHS, attention=AttentionConfig(score="dot").make_score, pairing="next").double()
    text = pairs()[2][:1]
    predicted = model(text)
    h = model.layers(model.words(text))[0][0]
    for t in range(7):
        alpha = (h[:t] @ h[t]).softmax(0)
        c = alpha @ h[1 : t + 1] if t else torch.zeros_like(h[0])
        expected = model.output_map(torch.tanh(model.attentional_map(torch.cat((c, h[t])))))
        assert_close(predicted.logits[0, t], expected, tolerance=1e-10)
    with pytest.raises(ValueError, match=r"pairing must be one of .*; got 'both'"):
        CharRNN(TARGET, **WIDTHS, pairing="both")


def test_a_window_bounds_the_memory() -> None:
    model = CharRNN(TARGET, **WIDTHS, attention=AttentionConfig(score="dot").make_score, window=2)
    predicted = model(pairs()[2])
    assert predicted.state.memory.size == 2
    seen = predicted.attended.weights()[0] > 0
    assert seen.sum(1).tolist() == [0, 1, 2, 2, 2, 2, 2]
    assert CharRNN(TARGET, **WIDTHS)(pairs()[2]).state.memory is None


def test_tied_embeddings_need_one_width() -> None:
    with pytest.raises(ValueError, match=r"tied embeddings need .* got 8 and an embedding_dim of 6"):
        LanguageModel(TARGET, **WIDTHS, tied=True)
