"""LSTMN as a language model, an encoder and an encoder-decoder."""

from __future__ import annotations

import pytest
import torch

import regard
from regard.cuda_capture import recording
from regard.models import LSTMNEncoder, LSTMNSeq2Seq, build
from regard.nn import LSTMN, DeepFusion, ShallowFusion
from regard.systems.language_model.lstmn_lm import LSTMNLM
from tests.mechanism import assert_close, on_the_device
from tests.models.systems import SOURCE, TARGET, WIDTHS, pairs


def test_a_language_model_is_the_layer_between_two_maps() -> None:
    model, text = LSTMNLM(TARGET, embedding_dim=6, hidden_dim=7).double(), pairs()[2]
    predicted, layer = model(text), model.layers.layers[0]
    assert isinstance(layer, LSTMN)
    step = layer(model.words(text))
    assert_close(predicted.logits, model.output_map(step.output))
    assert_close(predicted.attended.weights(), step.attended.weights())
    assert model.step(text[:, 0], model.start(None, batch=3)).attended is None


def test_windows_of_a_text_are_the_text() -> None:
    """With tapes that reach as far as they are carried, where a window ends changes nothing but gradients."""
    model, text = LSTMNLM(TARGET, **WIDTHS, window=3, num_layers=2).double(), torch.randint(4, TARGET, (2, 11))
    whole, state, parts = model(text).logits, None, []
    for part in text.split(4, dim=1):
        predicted = model(part, state)
        state = model.carry(predicted.state)
        assert not any(layer.memory.value.requires_grad for layer in state.layers)
        parts.append(predicted.logits)
    assert_close(torch.cat(parts, 1), whole)
    assert [layer.memory.size for layer in state.layers] == [3, 3]


def test_a_recording_of_a_language_model_asks_nothing_of_the_host() -> None:
    model, text = LSTMNLM(TARGET, **WIDTHS, window=3, dropout=0.2), pairs()[2]
    with recording(), on_the_device():
        first = model(text)
        model(text, model.carry(first.state)).logits.sum().backward()


def test_an_encoder_ends_at_each_texts_own_end() -> None:
    model, (source, lengths, _) = LSTMNEncoder(SOURCE, **WIDTHS, num_layers=2).double(), pairs()
    lengths[1] = 0
    encoded = model(source, lengths)
    assert_close(encoded.summary[0], encoded.states[0, 4])
    assert_close(encoded.summary[2], encoded.states[2, 3])
    assert (encoded.summary[1] == 0).all()
    assert_close(model(source[2:, :4]).summary[0], encoded.summary[2])
    assert model(source[:, :0]).summary.shape == (3, 8)
    with recording(), on_the_device():
        model(source, lengths).summary.sum().backward()


@pytest.mark.parametrize("fusion", ["deep", "shallow"])
def test_a_decoder_is_the_fusion(fusion: str) -> None:
    """Deep fusion reads both tapes of the encoder; shallow fusion its states, and feeds what was read back."""
    model, (source, lengths, target) = LSTMNSeq2Seq(SOURCE, TARGET, **WIDTHS, fusion=fusion).double(), pairs()
    predicted = model(source, lengths, target)
    encoded = model.encoder(source, lengths)
    decoder, fed = model.decoder, torch.zeros(3, 1, 0).double()
    if isinstance(decoder, DeepFusion):
        state = decoder.start(encoded.state.top)
    else:
        assert isinstance(decoder, ShallowFusion)
        state, fed = decoder.start(encoded.states, encoded.mask), torch.zeros(3, 1, 8).double()
    for t, word in enumerate(model.words(target).split(1, 1)):
        step = decoder(torch.cat((word, fed), -1), state)
        state = step.state
        fed = fed if fusion == "deep" else state.summary.unsqueeze(1)
        assert_close(predicted.logits[:, t : t + 1], model.output_map(step.output))
        assert_close(predicted.attended.weights()[:, t : t + 1], step.inter.weights())


def test_the_source_reaches_the_cell_only_by_its_gate() -> None:
    """Deep fusion with the gate shut is a language model: any source, the same words."""
    model, (source, lengths, target) = LSTMNSeq2Seq(SOURCE, TARGET, **WIDTHS), pairs()
    open_gate = model(source, lengths, target).logits
    assert not torch.allclose(open_gate, model(source.flip(0), lengths.flip(0), target).logits)
    assert isinstance(model.decoder, DeepFusion)
    torch.nn.init.constant_(model.decoder.gate.bias, -1e4)
    shut = model(source, lengths, target).logits
    assert torch.equal(shut, model(source.flip(0), lengths.flip(0), target).logits)


def test_captures_see_both_tapes_and_the_source() -> None:
    model, (source, lengths, target) = LSTMNSeq2Seq(SOURCE, TARGET, **WIDTHS), pairs()
    with regard.capture(model) as seen:
        predicted = model(source, lengths, target)
    assert list(seen) == ["encoder.layers.layers.0.cell.attention", "decoder.cell.attention", "decoder.inter"]
    assert seen.weights("decoder.cell.attention").shape == (3, 7, 6)
    assert_close(seen.weights("decoder.inter"), predicted.attended.weights())


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("lstmn", {"fusion": "late"}, "fusion must be one of .*; got 'late'"),
        ("lstmn", {"tied": True}, "tied embeddings need .* got 256 and an embedding_dim of 11"),
        ("lstmn_lm", {"window": 0}, "LSTMNLM: window must be at least 1; got 0"),
        ("lstmn_lm", {"num_layers": 0}, "LSTMNLM: num_layers must be at least 1; got 0"),
        ("lstmn_lm", {"dropout": 1.5}, "dropout"),
        ("lstmn_lm", {"scale": 0.0}, "scale must be above 0; got 0"),
        ("lstmn_lm", {"widow": 3}, "no argument of the model 'lstmn_lm' called 'widow' .did you mean 'window'"),
        ("acceptor", {"encoder": {"kind": "lstmm"}}, "there is no encoder 'lstmm' .did you mean 'lstmn'"),
    ],
)
def test_wrong_options_are_one_sentence(kind: str, options: dict[str, object], sentence: str) -> None:
    size = None if kind == "lstmn_lm" else TARGET
    extra = {"embedding_dim": 11} if "tied" in options else {}
    with pytest.raises(ValueError, match=sentence):
        build(kind, SOURCE, size, **options, **extra)  # type: ignore[arg-type]
