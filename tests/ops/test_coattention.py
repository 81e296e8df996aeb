"""Coattention."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Coattention
from regard.ops import Attended, coattention
from tests.mechanism import assert_close, check_gradients


def by_the_paper(document: Tensor, question: Tensor, d_sentinel: Tensor, q_sentinel: Tensor) -> tuple[Tensor, Tensor]:
    """One example without padding, words as columns, sentinels at the true ends: C^D [m, 2l], C^Q [n, l]."""
    d = torch.cat((document, d_sentinel[None])).T  # [l, m + 1]
    q = torch.cat((question, q_sentinel[None])).T  # [l, n + 1]
    affinity = d.T @ q  # [m + 1, n + 1]
    over_document, over_question = affinity.softmax(0), affinity.T.softmax(0)
    read = d @ over_document  # [l, n + 1]
    brought = torch.cat((q, read)) @ over_question  # [2l, m + 1]
    return brought[:, :-1].T, read[:, :-1].T


def test_shapes() -> None:
    out = coattention(torch.randn(2, 7, 5), torch.randn(2, 3, 5), torch.randn(5), torch.randn(5))
    assert out.context.shape == (2, 7, 10)
    assert out.document.weights().shape == (2, 7, 4)
    assert out.question.weights().shape == (2, 3, 8)
    assert out.question.context.shape == (2, 3, 5)


def test_value_by_hand() -> None:
    """One document word 1, one question word 1, sentinels 0: all affinities are 0 but one, which is 1."""
    one, zero = torch.ones(1, 1, 1), torch.zeros(1)
    out = coattention(one, one, zero, zero)
    high = math.e / (1 + math.e)  # on the word rather than on the sentinel
    assert_close(out.question.weights(), [[[high, 1 - high]]])
    assert_close(out.document.weights(), [[[high, 1 - high]]])
    assert_close(out.question.context, [[[high]]])
    # [Q; C^Q]: the word brings (1, high), the sentinel (0, 1/2), as its own read of the document is even
    assert_close(out.context, [[[high, high * high + (1 - high) / 2]]])


def test_sentinels_behind_the_padding_are_sentinels_at_the_true_end() -> None:
    document, question = torch.randn(3, 7, 5), torch.randn(3, 4, 5)
    sentinels = torch.randn(2, 5)
    lengths = [(7, 2), (3, 4), (1, 1)]
    documents, questions = zip(*lengths, strict=True)
    out = coattention(document, question, *sentinels, Mask.padding(documents), Mask.padding(questions))
    for row, (m, n) in enumerate(lengths):
        brought, read = by_the_paper(document[row, :m], question[row, :n], *sentinels)
        assert_close(out.context[row, :m], brought.double(), tolerance=1e-5)
        assert_close(out.question.context[row, :n], read.double(), tolerance=1e-5)


def test_mask() -> None:
    document, question, sentinels = torch.randn(2, 7, 5), torch.randn(2, 3, 5), torch.randn(2, 5)
    masks = Mask.padding([4, 0]), Mask.padding([2, 0])
    out = coattention(document, question, *sentinels, *masks)
    assert (out.context[0, 4:] == 0).all()
    assert (out.context[1] == 0).all()
    assert (out.document.weights()[0, 4:] == 0).all()
    assert (out.document.weights()[0, :, 2] == 0).all()
    assert (out.question.weights()[0, :, 4:7] == 0).all()
    assert (out.question.weights()[:, 2:] == 0).all()
    assert_close(out.document.weights()[0, :4].sum(-1), torch.ones(4))
    rubbish = document.clone(), question.clone()
    rubbish[0][0, 4:], rubbish[0][1], rubbish[1][0, 2:], rubbish[1][1] = 50.0, -50.0, 50.0, -50.0
    assert_close(coattention(*rubbish, *sentinels, *masks).context, out.context.double())


def test_empty_sequences() -> None:
    sentinels = torch.randn(2, 5)
    no_question = coattention(torch.randn(2, 7, 5), torch.randn(2, 0, 5), *sentinels)
    assert_close(no_question.document.weights(), torch.ones(2, 7, 1))
    assert_close(no_question.context[..., :5], sentinels[1].expand(2, 7, 5).double())
    no_document = coattention(torch.randn(2, 0, 5), torch.randn(2, 3, 5), *sentinels)
    assert no_document.context.shape == (2, 0, 10)
    assert_close(no_document.question.context, sentinels[0].expand(2, 3, 5).double())


def test_gradients() -> None:
    def read(*inputs: Tensor) -> tuple[Tensor, ...]:
        out = coattention(*inputs, Mask.padding([4, 2]), Mask.padding([1, 3]))
        return out.context, out.question.context, out.document.weights()

    check_gradients(read, torch.randn(2, 4, 2), torch.randn(2, 3, 2), torch.randn(2), torch.randn(2))


def test_padding_gets_no_gradient() -> None:
    document, question = torch.randn(2, 4, 3, requires_grad=True), torch.randn(2, 3, 3, requires_grad=True)
    out = coattention(document, question, *torch.randn(2, 3), Mask.padding([2, 4]), Mask.padding([3, 1]))
    out.context.square().sum().backward()
    assert document.grad is not None
    assert question.grad is not None
    assert (document.grad[0, 2:] == 0).all()
    assert (question.grad[1, 1:] == 0).all()
    assert (document.grad[0, :2] != 0).all()


def test_both_sides_move_with_their_words() -> None:
    """Order does not count: reordered document words bring home the same contexts, reordered."""
    document, question, sentinels = torch.randn(1, 7, 5), torch.randn(1, 3, 5), torch.randn(2, 5)
    order = torch.randperm(7)
    out, moved = (coattention(d, question, *sentinels) for d in (document, document[:, order]))
    assert_close(moved.context, out.context[:, order].double(), tolerance=1e-5)
    assert_close(moved.question.context, out.question.context.double(), tolerance=1e-5)


def test_half_precision_keeps_its_dtype_and_sums_in_float32() -> None:
    inputs = [torch.randn(*shape).bfloat16() for shape in ((2, 7, 5), (2, 3, 5), (5,), (5,))]
    out = coattention(*inputs)
    assert out.context.dtype == torch.bfloat16
    assert out.document.weights().dtype == torch.float32
    assert_close(out.context, coattention(*(tensor.double() for tensor in inputs)).context, tolerance=1e-2)


def test_module_computes_the_equation() -> None:
    module = Coattention(dim=5)
    document, question = torch.randn(1, 7, 5), torch.randn(1, 3, 5)
    words = torch.cat((question[0], module.question_sentinel[None]))  # the sentinel is mapped like a word
    mapped = torch.tanh(words @ module.question_map.weight.T + module.question_map.bias)
    brought, _ = by_the_paper(document[0], mapped[:-1], module.document_sentinel, mapped[-1])
    assert_close(module(document, question).context[0], brought.double(), tolerance=1e-5)


def test_module_shows_each_read_under_its_name() -> None:
    module = Coattention(dim=5)
    seen: list[Attended] = []
    module.document_read.watch(seen.append)
    module.question_read.watch(seen.append)
    out = module(torch.randn(2, 7, 5), torch.randn(2, 3, 5))
    assert seen == [out.document, out.question]


def test_bad_shapes_are_named() -> None:
    document, question, sentinel = torch.randn(2, 7, 5), torch.randn(2, 3, 5), torch.randn(5)
    with pytest.raises(ValueError, match=r"must share B and l; got \[2, 7, 5\] and \[2, 3, 4\]"):
        coattention(document, question[..., :4], sentinel, sentinel)
    with pytest.raises(ValueError, match=r"question_sentinel must be \[l\] = \[5\]; got \[4\]"):
        coattention(document, question, sentinel, sentinel[:4])
