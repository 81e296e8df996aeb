"""The position term."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Additive, Attention, Position
from regard.ops import Attended, additive_attention, position_features
from regard.ops.additive import blocked
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert position_features(3, 5, torch.tensor([5, 4])).shape == (2, 1, 3, 5, 3)
    assert position_features(0, 5, torch.tensor([5, 4])).shape == (2, 1, 0, 5, 3)
    assert position_features(3, 0, torch.tensor([0, 0])).shape == (2, 1, 3, 0, 3)
    assert position_features(1, 1, torch.tensor([1]), dtype=torch.float64).dtype == torch.float64


def test_value_by_hand() -> None:
    """The third query (j = 2) and the second key (i = 1) of a sentence of 7 words: log 3, log 2, log 8."""
    assert_close(position_features(3, 7, torch.tensor([7]))[0, 0, 2, 1], [math.log(3), math.log(2), math.log(8)])
    assert_close(position_features(1, 7, torch.tensor([7]))[0, 0, 0, 0], [0.0, 0.0, math.log(8)])


def test_the_length_is_the_true_one() -> None:
    """I is each sentence's own, however far the batch is padded."""
    padded = position_features(2, 11, torch.tensor([4, 11]))
    assert_close(padded[0, ..., 2], torch.full((1, 2, 11), math.log(5)))
    assert torch.equal(padded[:1, :, :, :4], position_features(2, 4, torch.tensor([4])))


def test_counting_goes_on_where_it_stopped() -> None:
    lengths = torch.tensor([5, 3])
    together = position_features(7, 5, lengths)
    assert torch.equal(position_features(4, 5, lengths, step=3), together[:, :, 3:])


def test_gradients() -> None:
    """Of a read with these features, in the matrix that maps them too."""
    features = position_features(2, 4, torch.tensor([4, 3]), dtype=torch.float64)

    def read(query: Tensor, key: Tensor, v: Tensor, feature_weight: Tensor) -> Tensor:
        mask = Mask.padding([4, 3])
        return additive_attention(
            query, key, key, v, mask, features=features, feature_weight=feature_weight, impl="blocked"
        ).context

    check_gradients(read, torch.randn(2, 2, 2, 3), torch.randn(2, 2, 4, 3), torch.randn(2, 3), torch.randn(2, 3, 3))


def test_mask() -> None:
    attention = Attention(Additive(3, 5, 7, terms=[Position()]))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key, mask=Mask.padding([4, 0]))
    assert (out.weights()[0, :, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert_close(out.context[:1], attention(query[:1], key[:1, :4]).context.double())


def test_it_takes_the_fused_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks at no past, so all queries are read at once, in tiles where they are asked for."""
    score = Additive(3, 5, 7, terms=[Position()]).double()
    query, key, mask = torch.randn(2, 11, 3).double(), torch.randn(2, 13, 5).double(), Mask.padding([13, 6])
    expected = Attention(score, impl="reference")(query, key, mask=mask)
    calls, plain = [], blocked.attention

    def spy(query: Tensor, *args: Any, **kwargs: Any) -> Attended:
        calls.append(query.shape)
        return plain(query, *args, **kwargs)

    monkeypatch.setattr(blocked, "attention", spy)
    actual = Attention(score, impl="blocked")(query, key, mask=mask)
    assert calls == [(2, 1, 11, 7)]
    assert_close(actual.context, expected.context, tolerance=1e-10)
    assert_close(actual.weights(), expected.weights(), tolerance=1e-10)


def test_it_can_align_by_place_alone() -> None:
    """With a large weight on (log(1+j) - log(1+i)) and its negative, query j finds key i = j whatever is said.

    tanh(c + x) - tanh(c' + x) with opposite shifts is a bump around x = 0: the diagonal.
    """
    features = position_features(5, 5, torch.tensor([5]))
    difference = torch.tensor([[20.0, -20.0, 0.0]])
    query = torch.tensor([1.0, -1.0]).expand(1, 1, 5, 2)
    feature_weight = torch.stack((difference[0], difference[0])).unsqueeze(0)
    out = additive_attention(
        query,
        torch.zeros(1, 1, 5, 2),
        torch.zeros(1, 1, 5, 1),
        torch.tensor([[9.0, -9.0]]),
        features=features,
        feature_weight=feature_weight,
    )
    assert out.alignment()[0, 0].tolist() == [0, 1, 2, 3, 4]


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"position_term: lengths must be \[B\].*got shape \[2, 1\]"):
        position_features(1, 3, torch.tensor([[3], [2]]))
