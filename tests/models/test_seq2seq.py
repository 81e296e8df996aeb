"""The encoder-decoder without attention: three ways of passing the context."""

from __future__ import annotations

import pytest
import torch

from regard.models import Seq2Seq
from regard.nn.cells import Cells, cell_step
from tests.mechanism import assert_close
from tests.models.systems import SOURCE, TARGET, WIDTHS, pairs


@pytest.mark.parametrize("context", ["state", "mapped", "input"])
def test_is_the_equations(context: str) -> None:
    model = Seq2Seq(SOURCE, TARGET, **WIDTHS, context=context, cells="gru").double()
    source, _, target = (part[:1] for part in pairs())
    logits = model(source, None, target).logits
    _, end = model.encoder.layers(model.encoder.words(source))
    c = end.hidden[:, 0]
    now = end.layer(0)
    if context != "state":
        now = now._replace(hidden=torch.tanh(model.bridge(c)))
    for t, token in enumerate(target[0]):
        word = model.words.table.weight[token].unsqueeze(0)
        x = torch.cat((word, c), 1) if context == "input" else word
        now = cell_step("gru", x, now, model.layers.weights(0))
        features = torch.cat((now.hidden, word, c), 1) if context == "input" else now.hidden
        assert_close(logits[0, t], model.output_map(features)[0], tolerance=1e-10)


def test_reversal_turns_the_words_and_not_the_padding() -> None:
    plain, turned = Seq2Seq(SOURCE, TARGET, **WIDTHS), Seq2Seq(SOURCE, TARGET, **WIDTHS, reverse=True)
    turned.load_state_dict(plain.state_dict())
    _, lengths, target = pairs()
    source = torch.tensor([[4, 5, 6, 7, 3], [8, 3, 0, 0, 0], [9, 10, 4, 3, 0]])
    backwards = torch.tensor([[3, 7, 6, 5, 4], [3, 8, 0, 0, 0], [3, 4, 10, 9, 0]])
    assert_close(turned(source, lengths, target).logits, plain(backwards, lengths, target).logits)


def test_all_of_the_source_goes_through_one_vector() -> None:
    """Without attention two sources with one last state cannot be told apart; the state is all there is."""
    model, (source, lengths, target) = Seq2Seq(SOURCE, TARGET, **WIDTHS, context="mapped", cells="gru"), pairs()
    state = model.start(source, lengths)
    assert state.memory is None
    assert model(source, lengths, target).attended is None


def test_parameter_count() -> None:
    """The Multi30k ladder's first rung: two LSTMs of 2 x 512 over 256, vocabularies of 7,853 and 5,893."""
    lstm = 2048 * (256 + 512 + 2) + 2048 * (512 + 512 + 2)
    expected = 256 * (7853 + 5893) + 2 * lstm + 5893 * 513
    with torch.device("meta"):
        model = Seq2Seq(7853, 5893, cells=Cells(kind="lstm", num_layers=2))
    assert sum(p.numel() for p in model.parameters()) == expected
    assert 13.8e6 < expected < 14.0e6


def test_bad_ways_are_named() -> None:
    with pytest.raises(ValueError, match=r"context must be one of .*; got 'inputs'"):
        Seq2Seq(SOURCE, TARGET, context="inputs")
    with pytest.raises(ValueError, match="splits its width between two directions; hidden_dim is 5"):
        Seq2Seq(SOURCE, TARGET, hidden_dim=5, bidirectional=True)
