"""Attention over attention."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import AttentionOverAttention
from regard.ops import Attended, attention_over_attention
from tests.mechanism import assert_close, check_gradients


def by_the_paper(document: Tensor, query: Tensor) -> Tensor:
    """One example without padding: [D, C], [Q, C] -> s [D]."""
    matching = document @ query.T
    alpha, beta = matching.softmax(0), matching.softmax(1)
    return alpha @ beta.mean(0)


def test_shapes() -> None:
    out = attention_over_attention(torch.randn(2, 7, 5), torch.randn(2, 3, 5))
    assert out.weights.shape == (2, 7)
    assert out.alpha.shape == (2, 3, 7)
    assert out.beta.shape == (2, 7, 3)
    assert out.importance.shape == (2, 3)
    assert out.attended.context.shape == (2, 1, 5)
    assert out.attended.weights().shape == (2, 1, 7)


def test_value_by_hand() -> None:
    """M = [[0, 0], [0, log 3]]: both softmaxes are (1/2, 1/2) and (1/4, 3/4), so β̄ = (3/8, 5/8)."""
    words = torch.tensor([[[0.0], [math.sqrt(math.log(3))]]])
    out = attention_over_attention(words, words)
    assert_close(out.alpha, [[[0.5, 0.5], [0.25, 0.75]]])
    assert_close(out.importance, [[3 / 8, 5 / 8]])
    assert_close(out.weights, [[3 / 16 + 5 / 32, 3 / 16 + 15 / 32]])


def test_mask() -> None:
    """Both softmaxes and the mean leave padding out: a padded batch gives what each example gives alone."""
    document, query, lengths = torch.randn(3, 7, 5), torch.randn(3, 4, 5), [(7, 1), (2, 4), (5, 3)]
    document_mask, query_mask = (Mask.padding(side) for side in zip(*lengths, strict=True))
    out = attention_over_attention(document, query, document_mask, query_mask)
    for row, (d, q) in enumerate(lengths):
        alone = by_the_paper(document[row, :d], query[row, :q])
        assert_close(out.weights[row, :d], alone.double(), tolerance=1e-5)
        assert (out.weights[row, d:] == 0).all()
        assert (out.alpha[row, q:] == 0).all()
        assert (out.alpha[row, :, d:] == 0).all()
        assert (out.beta[row, d:] == 0).all()
        assert (out.importance[row, q:] == 0).all()
        document[row, d:], query[row, q:] = 50.0, -50.0
    again = attention_over_attention(document, query, document_mask, query_mask)
    assert_close(again.weights, out.weights.double())


def test_an_empty_side_gives_zero() -> None:
    document, query = torch.randn(3, 7, 5, requires_grad=True), torch.randn(3, 4, 5, requires_grad=True)
    out = attention_over_attention(document, query, Mask.padding([0, 7, 0]), Mask.padding([4, 0, 0]))
    assert all((part == 0).all() for part in (out.weights, out.alpha[0], out.beta[1], out.attended.context))
    out.weights.square().sum().backward()
    assert document.grad is not None
    assert query.grad is not None
    assert (document.grad == 0).all()
    assert (query.grad == 0).all()
    assert attention_over_attention(document[:, :0], query).weights.shape == (3, 0)
    assert (attention_over_attention(document, query[:, :0]).weights == 0).all()


def test_gradients() -> None:
    def read(document: Tensor, query: Tensor) -> tuple[Tensor, ...]:
        out = attention_over_attention(document, query, Mask.padding([4, 2, 0]), Mask.padding([1, 3, 2]))
        return out.weights, out.attended.context

    check_gradients(read, torch.randn(3, 4, 2), torch.randn(3, 3, 2))


def test_it_is_a_distribution_over_the_document() -> None:
    out = attention_over_attention(
        3 * torch.randn(5, 11, 7), torch.randn(5, 3, 7), Mask.padding([11, 1, 6, 2, 9]), Mask.padding([3, 2, 1, 3, 2])
    )
    assert (out.weights >= 0).all()
    assert_close(out.weights.sum(-1), torch.ones(5))
    assert_close(out.importance.sum(-1), torch.ones(5))


def test_one_query_word_is_plain_attention() -> None:
    """With nothing to weigh up, β̄ is 1 and s is α: the attention sum reader."""
    document, query = torch.randn(2, 7, 5), torch.randn(2, 1, 5)
    expected = (document @ query.mT).squeeze(2).softmax(-1)
    assert_close(attention_over_attention(document, query).weights, expected.double(), tolerance=1e-5)


def test_half_precision_points_in_float32() -> None:
    document, query = torch.randn(2, 7, 5).half(), torch.randn(2, 3, 5).half()
    out = attention_over_attention(document, query)
    assert out.weights.dtype == torch.float32
    assert out.attended.context.dtype == torch.float16
    assert_close(out.weights, attention_over_attention(document.double(), query.double()).weights, tolerance=1e-5)


def test_module_is_the_op_and_is_watched() -> None:
    module = AttentionOverAttention()
    seen: list[Attended] = []
    module.watch(seen.append)
    document, query, masks = torch.randn(2, 7, 5), torch.randn(2, 3, 5), (Mask.padding([7, 4]), Mask.padding([2, 3]))
    out = module(document, query, *masks)
    assert_close(out.weights, attention_over_attention(document, query, *masks).weights.double())
    assert seen == [out.attended]
    assert_close(seen[0].context, (out.weights.unsqueeze(1) @ document).double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"must share B and C; got \[2, 7, 5\] and \[3, 3, 5\]"):
        attention_over_attention(torch.randn(2, 7, 5), torch.randn(3, 3, 5))
