"""n to 1 and n to n: acceptors and transducers."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from regard.models import LSTMNEncoder, RecurrentEncoder, TransformerEncoder
from regard.nn import reverse_sequences
from regard.systems.classification.acceptor import Acceptor
from regard.systems.tagging.transducer import Transducer
from tests.mechanism import assert_close
from tests.models.systems import PRE, SOURCE, named_gradients, pairs

ENCODERS = {
    "rnn": lambda: RecurrentEncoder(SOURCE, embedding_dim=6, hidden_dim=8, bidirectional=True),
    "lstmn": lambda: LSTMNEncoder(SOURCE, embedding_dim=6, hidden_dim=8, num_layers=2),
    "transformer": lambda: TransformerEncoder(SOURCE, PRE, num_layers=2),
    "transformer rotary": lambda: TransformerEncoder(SOURCE, PRE, num_layers=2, positions="rotary"),
}
encoders = pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
poolings = pytest.mark.parametrize("pooling", ["last", "mean", "max", "attention"])


@encoders
@poolings
def test_an_acceptor_reads_words_and_no_padding(encoder, pooling: str) -> None:  # type: ignore[no-untyped-def]
    model, (text, lengths, _) = Acceptor(encoder(), 4, pooling=pooling).double(), pairs()
    logits = model(text, lengths).logits
    assert logits.shape == (3, 4)
    for row, length in enumerate(lengths.tolist()):
        assert_close(model(text[row : row + 1, :length]).logits[0], logits[row], tolerance=1e-10)
    assert_close(model(F.pad(text, (0, 3), value=7), lengths).logits, logits, tolerance=1e-10)


@poolings
def test_pooling_by_hand(pooling: str) -> None:
    model, (text, lengths, _) = Acceptor(ENCODERS["rnn"](), 4, pooling=pooling).double(), pairs()
    predicted, h = model(text, lengths), model.encoder(text, lengths).states[1, :2]
    if pooling == "attention":
        alpha = (torch.tanh(h @ model.attention.inner_map.weight.T) @ model.attention.outer_map.weight[0]).softmax(0)
        pooled = alpha @ h
        assert_close(predicted.attended.weights()[1, 0, :2], alpha, tolerance=1e-10)
    else:
        both_ends = torch.cat((h[-1, :4], h[0, 4:]))
        pooled = {"last": both_ends, "mean": h.mean(0), "max": h.amax(0)}[pooling]
    assert_close(predicted.logits[1], model.output_map(pooled), tolerance=1e-10)


@encoders
@poolings
def test_an_empty_text_has_the_vector_zero(encoder, pooling: str) -> None:  # type: ignore[no-untyped-def]
    model, text = Acceptor(encoder(), 4, pooling=pooling), pairs()[0]
    logits = model(text, torch.tensor([5, 0, 4])).logits
    assert_close(logits[1], model.output_map.bias)
    logits.sum().backward()
    assert all(gradient is None or torch.isfinite(gradient).all() for _, gradient in named_gradients(model))


@encoders
def test_a_transducer_tags_each_word(encoder) -> None:  # type: ignore[no-untyped-def]
    model, (text, lengths, _) = Transducer(encoder(), 4).double(), pairs()
    logits = model(text, lengths).logits
    assert logits.shape == (3, 5, 4)
    for row, length in enumerate(lengths.tolist()):
        alone = model(text[row : row + 1, :length]).logits[0]
        assert_close(alone, logits[row, :length], tolerance=1e-10)


def test_learns_a_handful_by_heart() -> None:
    text, lengths, _ = pairs()
    backwards = reverse_sequences(text, lengths)
    acceptor, transducer = Acceptor(ENCODERS["rnn"](), 3), Transducer(ENCODERS["transformer"](), SOURCE)
    optimizer = torch.optim.Adam([*acceptor.parameters(), *transducer.parameters()], lr=0.02)
    for _ in range(60):
        label = F.cross_entropy(acceptor(text, lengths).logits, torch.tensor([2, 0, 1]))
        tags = F.cross_entropy(transducer(text, lengths).logits.mT, backwards, ignore_index=0)
        optimizer.zero_grad()
        (label + tags).backward()
        optimizer.step()
    assert label.item() < 0.1
    assert tags.item() < 0.1


def test_parameter_count() -> None:
    """Bidirectional GRU of 2 x 4 over 6, attention pooling of width 8, four classes."""
    counted = sum(p.numel() for p in Acceptor(ENCODERS["rnn"](), 4).parameters())
    assert counted == SOURCE * 6 + 2 * 12 * (6 + 4 + 2) + 8 * 8 + 8 + 4 * 9


def test_bad_poolings_are_named() -> None:
    with pytest.raises(ValueError, match=r"pooling must be one of .*; got 'sum'"):
        Acceptor(ENCODERS["rnn"](), 4, pooling="sum")
