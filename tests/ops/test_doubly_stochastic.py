"""The doubly stochastic loss."""

from __future__ import annotations

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, DoublyStochastic
from regard.ops import doubly_stochastic_penalty
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert doubly_stochastic_penalty(torch.rand(3, 7)).shape == (3,)
    assert doubly_stochastic_penalty(torch.rand(3, 0)).tolist() == [0.0, 0.0, 0.0]
    assert doubly_stochastic_penalty(torch.ones(3, 7, dtype=torch.float16)).dtype == torch.float32


def test_value_by_hand() -> None:
    """(1 - 0.5)² + (1 - 1)² + (1 - 3)² = 4.25; with τ = 2: 2.25 + 1 + 1."""
    coverage = torch.tensor([[0.5, 1.0, 3.0]])
    assert_close(doubly_stochastic_penalty(coverage), [4.25])
    assert_close(doubly_stochastic_penalty(coverage, target=2.0), [4.25])
    assert_close(doubly_stochastic_penalty(coverage.expand(2, 3), target=torch.tensor([1.0, 3.0])), [4.25, 10.25])


def test_mask() -> None:
    coverage = torch.rand(2, 5)
    alone = doubly_stochastic_penalty(coverage[:1, :3])
    coverage[0, 3:] = coverage[1] = torch.nan
    coverage.requires_grad_()
    penalty = doubly_stochastic_penalty(coverage, Mask.padding([3, 0]))
    assert_close(penalty[:1], alone.double())
    assert penalty[1] == 0
    (grad,) = torch.autograd.grad(penalty.sum(), coverage)
    assert (grad[0, :3] != 0).all()
    assert (grad[0, 3:] == 0).all()
    assert (grad[1] == 0).all()


def test_gradients() -> None:
    mask = Mask.padding([3, 2])
    check_gradients(
        lambda coverage, target: doubly_stochastic_penalty(coverage, mask, target=target),
        torch.rand(2, 3),
        torch.rand(2),
    )


@pytest.mark.parametrize("queries", [3, 7, 11])
def test_even_attention_is_best(queries: int) -> None:
    """T rows that sum to one have at least the penalty (T - S)² / S, which even rows reach; with τ = T / S it is 0."""
    weights = (3 * torch.randn(13, queries, 7).double()).softmax(-1)
    least = (queries - 7) ** 2 / 7
    assert (doubly_stochastic_penalty(weights.sum(1)) > least).all()
    even = torch.full((1, queries, 7), 1 / 7).double().sum(1)
    assert_close(doubly_stochastic_penalty(even), [least])
    assert_close(doubly_stochastic_penalty(even, target=queries / 7), [0.0])


def test_a_permutation_is_doubly_stochastic() -> None:
    assert_close(doubly_stochastic_penalty(torch.eye(7)[torch.randperm(7)].sum(0, keepdim=True)), [0.0])


def test_module_computes_the_equation() -> None:
    attention, mask = Attention(Additive(3, 5, 7)), Mask.padding([6, 4])
    out = attention(torch.randn(2, 9, 3), torch.randn(2, 6, 5), mask=mask)
    weights = out.weights()
    first, second = ((0.9 - weights[b, :, :length].sum(0)).square().sum() for b, length in enumerate((6, 4)))
    loss = DoublyStochastic(weight=0.5, target=0.9)(out.coverage(), mask)
    assert_close(loss, 0.25 * (first + second).double())
    grads = torch.autograd.grad(loss, list(attention.parameters()))
    assert all((grad != 0).any() for grad in grads)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"coverage must be \[B, S\].*got shape \[2, 3, 7\]"):
        doubly_stochastic_penalty(torch.rand(2, 3, 7))
    with pytest.raises(ValueError, match=r"target must be \[B\] = \[2\] or a number; got \[7\]"):
        doubly_stochastic_penalty(torch.rand(2, 7), target=torch.rand(7))
