"""Sentences read in several hops: the penalty, the hidden layers, and two texts compared."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.models import BertEncoder, RecurrentEncoder, TransformerEncoder, build
from regard.nn import LayerConfig
from regard.ops import frobenius_penalty
from regard.systems.classification.acceptor import Acceptor
from regard.systems.classification.split_pair import SplitPair
from tests.mechanism import assert_close

SIZE, CLASSES, HOPS, WIDTH = 11, 3, 5, 8
ENCODERS = {
    "rnn": lambda: RecurrentEncoder(SIZE, embedding_dim=6, hidden_dim=WIDTH, bidirectional=True),
    "transformer": lambda: TransformerEncoder(SIZE, LayerConfig(dim=WIDTH, num_heads=2, dropout=0.0), num_layers=1),
    "bert": lambda: BertEncoder(SIZE, LayerConfig(dim=WIDTH, num_heads=2, dropout=0.0, norm="post"), num_layers=1),
}


def texts() -> tuple[Tensor, Tensor]:
    """Two of lengths 7 and 3."""
    return torch.tensor([[5, 6, 7, 8, 9, 10, 4], [9, 5, 5, 0, 0, 0, 0]]), torch.tensor([7, 3])


def two_texts() -> tuple[Tensor, Tensor]:
    """Three rows of two texts with 3 between; the last has nothing behind it."""
    return torch.tensor([[5, 6, 7, 3, 9, 10], [9, 3, 5, 8, 0, 0], [6, 7, 8, 3, 0, 0]]), torch.tensor([6, 4, 4])


def acceptor(encoder: str = "rnn", **options: Any) -> Acceptor:
    torch.manual_seed(1)
    return Acceptor(ENCODERS[encoder](), CLASSES, **{"num_hops": HOPS, **options}).double()


def test_hops_are_read_side_by_side_and_not_averaged() -> None:
    model = acceptor(attention_dim=7)
    predicted, h = model(*texts()), model.encoder(*texts()).states[1, :3]
    assert model.attention is not None
    inner, outer = model.attention.inner_map.weight, model.attention.outer_map.weight
    assert (inner.shape, outer.shape) == ((7, WIDTH), (HOPS, 7))
    weights = (torch.tanh(h @ inner.T) @ outer.T).softmax(0).T
    assert_close(predicted.attended.weights()[1, :, :3], weights, tolerance=1e-10)
    assert_close(predicted.logits[1], model.output_map((weights @ h).flatten()), tolerance=1e-10)
    assert "penalty" not in predicted.extras


def test_the_penalty_is_of_words_and_no_padding() -> None:
    model = acceptor(penalty=0.3)
    predicted = model(*texts())
    assert_close(predicted.extras["penalty"], 0.3 * frobenius_penalty(predicted.attended.weights()), tolerance=1e-12)
    more = model(F.pad(texts()[0], (0, 3), value=7), texts()[1])
    assert_close(more.extras["penalty"], predicted.extras["penalty"], tolerance=1e-10)
    assert predicted.extras["penalty"][1].item() >= 0.3 * (HOPS - 3)  # three words for five hops


def test_a_step_down_the_slope_of_the_penalty_drives_hops_apart() -> None:
    model = acceptor(penalty=1.0)
    before = model(*texts()).extras["penalty"].mean()
    before.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0 if parameter.grad is None else 0.1 * parameter.grad
    assert model(*texts()).extras["penalty"].mean() < before
    assert model.encoder.words.table.weight.grad.abs().sum() > 0  # the encoder hears of it too


@pytest.mark.parametrize("pooling", ["last", "mean", "max"])
def test_what_is_of_attention_is_nothing_to_other_poolings(pooling: str) -> None:
    model = acceptor(pooling=pooling, penalty=1.0, attention_dim=4)
    predicted = model(*texts())
    assert predicted.attended is None
    assert not predicted.extras
    assert model.output_map.in_features == WIDTH


@pytest.mark.parametrize("options", [{"hidden_dim": 13}, {"pruned": [2, 3]}, {"pruned": [2, 3], "pooling": "max"}])
def test_a_hidden_layer_is_between_matrix_and_labels(options: dict[str, Any]) -> None:
    model = acceptor(**options).eval()
    rows = HOPS if model.attention is not None else 1
    units = options.get("hidden_dim", rows * 2 + WIDTH * 3)
    assert model.output_map.in_features == units
    matrix = torch.randn(2, rows, WIDTH).double()
    assert model.hidden is not None
    assert_close(model.decide(matrix), model.output_map(torch.relu(model.hidden(matrix))), tolerance=1e-12)
    model.train()(*texts()).logits.sum().backward()
    assert all(parameter.grad is not None for parameter in model.hidden.parameters())


def test_an_empty_text_has_rows_of_zeros() -> None:
    model = acceptor(penalty=1.0)
    predicted = model(texts()[0], torch.tensor([7, 0]))
    assert_close(predicted.logits[1], model.output_map.bias, tolerance=1e-12)
    assert predicted.extras["penalty"][1].item() == HOPS
    (predicted.logits.sum() + predicted.extras["penalty"].sum()).backward()
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("pooling", ["attention", "max"])
def test_two_texts_are_read_alone_and_multiplied(encoder: str, pooling: str) -> None:
    model = acceptor(encoder, pair_dim=7, pooling=pooling, penalty=0.1).eval()
    predicted = model(*two_texts())
    firsts, seconds = ([5, 6, 7], [9], [6, 7, 8]), ([9, 10], [5, 8], None)
    for row, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
        assert model.pair is not None
        mine, looked = model._pooled(model.encoder(torch.tensor([first])))
        if second is None:  # nothing stands behind the end
            yours = torch.zeros_like(mine)
        else:
            yours, also = model._pooled(model.encoder(torch.tensor([second])))
        assert_close(predicted.logits[row], model.decide(model.pair(mine, yours))[0], tolerance=1e-10)
        if looked is not None and second is not None:
            weights, end = predicted.attended.weights()[row], len(first)
            assert_close(weights[:, :end], looked.weights()[0], tolerance=1e-10)
            assert_close(weights[:, end], torch.zeros(HOPS))
            assert_close(weights[:, end + 1 : end + 1 + len(second)], also.weights()[0], tolerance=1e-10)
            assert_close(weights[:, end + 1 + len(second) :].sum(), 0.0)
            cost = sum(0.1 * frobenius_penalty(read.weights())[0] for read in (looked, also))
            assert_close(predicted.extras["penalty"][row], cost, tolerance=1e-10)


def test_more_padding_changes_no_pair() -> None:
    model = acceptor(pair_dim=7, hidden_dim=4)
    wide = model(F.pad(two_texts()[0], (0, 4), value=7), two_texts()[1])
    assert_close(wide.logits, model(*two_texts()).logits, tolerance=1e-10)
    assert wide.attended.weights().shape == (3, HOPS, 10)


def test_texts_without_lengths_and_texts_of_nothing_are_parted() -> None:
    whole = SplitPair.of(torch.tensor([[5, 3, 6], [3, 7, 8], [7, 8, 9]]))
    assert whole.ids.tolist() == [[5, 0, 0], [0, 0, 0], [7, 8, 9], [6, 0, 0], [7, 8, 0], [0, 0, 0]]
    assert whole.lengths.tolist() == [1, 0, 3, 1, 2, 0]
    assert SplitPair.of(torch.zeros(2, 0).long()).lengths.tolist() == [0, 0, 0, 0]
    padding = SplitPair.of(torch.tensor([[5, 0, 0, 3]]), torch.tensor([1]))  # an end behind the text is none
    assert padding.lengths.tolist() == [1, 0]


def test_words_are_lost_but_not_the_end_between_texts() -> None:
    model = acceptor(pair_dim=7, word_dropout=1.0)
    lost = torch.tensor([[1, 1, 1, 3, 1, 1], [1, 3, 1, 1, 0, 0], [1, 1, 1, 3, 0, 0]])
    assert_close(model(*two_texts()).logits, model.eval()(lost, two_texts()[1]).logits, tolerance=1e-12)


def test_several_hops_learn_by_heart() -> None:
    model = acceptor(penalty=0.1, pruned=[3, 1]).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(40):
        predicted = model(*texts())
        loss = F.cross_entropy(predicted.logits, torch.tensor([2, 0]))
        optimizer.zero_grad()
        (loss + predicted.extras["penalty"].mean()).backward()
        optimizer.step()
    assert loss.item() < 0.1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_hops": 0}, "num_hops must be at least 1; got 0"),
        ({"penalty": -1.0}, "penalty must be at least 0; got -1"),
        ({"penalty": float("nan")}, "penalty must be at least 0; got nan"),
        ({"hidden_dim": 4, "pruned": [1, 1]}, "hidden_dim and pruned are two ways to make one hidden layer"),
        ({"pruned": [1, 2, 3]}, r"pruned is two whole numbers, .* got \[1, 2, 3\]"),
        ({"pruned": 4}, "pruned is two whole numbers, .* got 4"),
        ({"pruned": "12"}, "pruned is two whole numbers, .* got '12'"),
        ({"pruned": [0, 1]}, "row_units must be at least 1; got 0"),
        ({"num_hops": "many"}, "num_hops must be a whole number; got 'many'"),
    ],
)
def test_wrong_arguments_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        build("acceptor", SIZE, CLASSES, **options)
