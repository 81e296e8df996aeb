"""The symmetry bonus."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Additive, Attention, Symmetry
from regard.ops import symmetry_bonus
from tests.mechanism import assert_close, check_gradients


def both_ways(queries: int, keys: int, batch: int = 3) -> tuple[Tensor, Tensor]:
    """Random alignments of two directions, rows summing to one."""
    return (3 * torch.randn(batch, queries, keys)).softmax(-1), (3 * torch.randn(batch, keys, queries)).softmax(-1)


def test_shapes() -> None:
    assert symmetry_bonus(*both_ways(5, 7)).shape == (3,)
    assert symmetry_bonus(torch.rand(3, 5, 0), torch.rand(3, 0, 5)).tolist() == [0.0, 0.0, 0.0]
    half = torch.ones(3, 5, 7, dtype=torch.bfloat16)
    assert symmetry_bonus(half, half.mT).dtype == torch.float32


def test_value_by_hand() -> None:
    """Two target words, three source words: 0.5·0.2 + 0.5·1 + 0·0.5 in the first row, 1·0.5 in the second."""
    forward = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    backward = torch.tensor([[[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]]])
    assert_close(symmetry_bonus(forward, backward), [1.1])


def test_it_is_the_trace_of_the_product() -> None:
    forward, backward = both_ways(5, 7)
    expected = torch.stack([torch.trace(a @ b) for a, b in zip(forward, backward, strict=True)])
    assert_close(symmetry_bonus(forward, backward), expected.double())
    assert_close(symmetry_bonus(backward, forward), expected.double())


@pytest.mark.parametrize(("queries", "keys"), [(5, 7), (7, 5), (2, 9)])
def test_it_lies_between_zero_and_the_shorter_length(queries: int, keys: int) -> None:
    bonus = symmetry_bonus(*both_ways(queries, keys, batch=97))
    assert (bonus >= 0).all()
    assert (bonus <= min(queries, keys)).all()


def test_the_bound_is_reached_by_a_permutation() -> None:
    forward = torch.eye(7)[torch.randperm(7)].unsqueeze(0)
    assert_close(symmetry_bonus(forward, forward.mT), [7.0])


def test_mask() -> None:
    """A padded word is a key in one direction and has weight 0 there, whatever its row holds in the other."""
    attention, back = Attention(Additive(3, 5, 7)), Attention(Additive(5, 3, 7))
    target, source = torch.randn(2, 6, 3), torch.randn(2, 8, 5)
    forward = attention(target, source, mask=Mask.padding([5, 0])).weights()
    backward = back(source, target, mask=Mask.padding([4, 6])).weights()
    bonus = symmetry_bonus(forward, backward)
    assert_close(bonus[:1], symmetry_bonus(forward[:1, :4, :5], backward[:1, :5, :4]).double())
    assert bonus[1] == 0
    grads = torch.autograd.grad(bonus[1], [*attention.parameters(), *back.parameters()])
    assert all((grad == 0).all() for grad in grads)


def test_gradients() -> None:
    check_gradients(symmetry_bonus, *both_ways(2, 3))


def test_module_computes_the_equation() -> None:
    forward, backward = both_ways(5, 7)
    assert_close(Symmetry(gamma=0.3)(forward, backward), -0.3 * (forward * backward.mT).sum().double() / 3)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(
        ValueError, match=r"\[B, J, I\] and backward_weights \[B, I, J\]; got \[3, 5, 7\] and \[3, 5, 7\]"
    ):
        symmetry_bonus(torch.rand(3, 5, 7), torch.rand(3, 5, 7))
    with pytest.raises(ValueError, match=r"got \[3, 1, 5, 7\]"):
        symmetry_bonus(torch.rand(3, 1, 5, 7), torch.rand(3, 1, 7, 5))
