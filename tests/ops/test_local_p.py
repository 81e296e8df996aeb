"""Local attention with predictive alignment."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Additive, Attention, Bilinear, LocalP, MultiHead
from regard.ops import local_p_weights, masked_softmax
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert local_p_weights(torch.randn(2, 3, 5, 7), 7 * torch.rand(2, 3, 5), window=2).shape == (2, 3, 5, 7)
    assert local_p_weights(torch.randn(2, 3, 5, 7), 7 * torch.rand(2, 1, 5), window=2).shape == (2, 3, 5, 7)


def test_value_by_hand() -> None:
    """Equal energies, p = 1.5, D = 2, so σ = 1: keys 0 to 3 share 1/4 each, times exp(-(s - 1.5)² / 2)."""
    weights = local_p_weights(torch.zeros(1, 1, 1, 5), torch.tensor([[[1.5]]]), window=2)
    near, far = math.exp(-0.125) / 4, math.exp(-1.125) / 4
    assert_close(weights, [[[[far, near, near, far, 0.0]]]])


def test_the_window_lies_around_the_floor_and_the_curve_around_the_position() -> None:
    """p = 2.9 and D = 1: keys 1, 2 and 3, although key 4 is nearer to p than key 1; σ = 1/2."""
    weights = local_p_weights(torch.zeros(1, 1, 1, 6), torch.tensor([[[2.9]]]), window=1)
    expected = [math.exp(-2 * (s - 2.9) ** 2) / 3 if 1 <= s <= 3 else 0.0 for s in range(6)]
    assert_close(weights, [[[expected]]])


def test_mask() -> None:
    energy, position = torch.randn(2, 1, 5, 7), 3 * torch.rand(2, 1, 5)
    weights = local_p_weights(energy, position, Mask.padding([3, 0]), window=2)
    assert (weights[0, ..., 3:] == 0).all()
    assert (weights[1] == 0).all()
    assert_close(weights[:1, ..., :3], local_p_weights(energy[:1, ..., :3], position[:1], window=2).double())


def test_gradients() -> None:
    """Positions away from whole numbers, where the window jumps."""
    position = torch.tensor([[[0.3, 1.6, 3.5]], [[2.4, 0.7, 1.2]]])

    def weigh(energy, position):  # type: ignore[no-untyped-def]
        return local_p_weights(energy, position, Mask.padding([5, 3]), window=1)

    check_gradients(weigh, torch.randn(2, 1, 3, 5), position)


def test_weights_are_softmax_times_curve_and_sum_to_less_than_one() -> None:
    energy, position = torch.randn(2, 3, 5, 11), 11 * torch.rand(2, 3, 5)
    weights = local_p_weights(energy, position, window=3)
    far = (torch.arange(11) - position.floor().unsqueeze(-1)).abs() > 3
    soft = masked_softmax(energy.masked_fill(far, -torch.inf))
    curve = torch.exp(-((torch.arange(11) - position.unsqueeze(-1)) ** 2) / (2 * 1.5**2))
    assert_close(weights, (soft * curve).double())
    assert (weights.sum(-1) < 1).all()


def test_gradient_reaches_the_position_through_the_curve_only() -> None:
    """d a / d p = a (s - p) / σ²: no more than the derivative of the bell curve."""
    energy, position = torch.randn(1, 1, 1, 7).double(), torch.tensor([[[3.3]]]).double().requires_grad_()
    weights = local_p_weights(energy, position, window=2)
    for s in range(7):
        (slope,) = torch.autograd.grad(weights[0, 0, 0, s], position, retain_graph=True)
        assert_close(slope, weights[0, 0, 0, s].detach().view(1, 1, 1) * (s - 3.3))


def test_module_computes_the_equation() -> None:
    aligner, score = LocalP(query_dim=3, hidden_dim=4, window=2), Bilinear(3, 5)
    query, key = torch.randn(2, 6, 3), torch.randn(2, 11, 5)
    lengths = torch.tensor([11, 7])
    hidden = torch.tanh(query @ aligner.position_map.weight.T)
    position = lengths[:, None] * torch.sigmoid(hidden @ aligner.weight[0])
    offset = torch.arange(11) - position.unsqueeze(-1)
    near = (torch.arange(11) - position.floor().unsqueeze(-1)).abs() <= 2
    allowed = near & (torch.arange(11) < lengths[:, None, None])
    energy = torch.einsum("btq,qk,bsk->bts", query, score.weight[0] / 5**0.5, key).masked_fill(~allowed, -torch.inf)
    expected = energy.softmax(-1) * torch.exp(-(offset**2) / 2)
    out = Attention(score, aligner)(query, key, mask=Mask.padding(lengths))
    assert_close(out.weights(), expected.double(), tolerance=1e-5)
    assert_close(out.context, (expected @ key).double(), tolerance=1e-5)


def test_the_true_length_counts_not_the_padded_one() -> None:
    attention = Attention(Additive(3, 5, hidden_dim=7), LocalP(query_dim=3, window=2))
    query, key = torch.randn(1, 6, 3), torch.randn(1, 5, 5)
    padded = torch.cat((key, 50 * torch.randn(1, 8, 5)), dim=1)
    alone, long = attention(query, key), attention(query, padded, mask=Mask.padding([5]))
    assert_close(long.context, alone.context.double(), tolerance=1e-5)


def test_one_position_for_all_heads_or_one_for_each() -> None:
    query, key = torch.randn(2, 6, 3), torch.randn(2, 101, 5)
    for heads in (1, 2):
        aligner = LocalP(query_dim=3, window=1, num_heads=heads)
        out = MultiHead(Bilinear(3, 5, num_heads=2), aligner, value_dim=5)(query, key)
        first, second = (out.weights(heads=head) > 0 for head in (0, 1))
        assert torch.equal(first, second) == (heads == 1)


def test_step_by_step_equals_all_at_once() -> None:
    attention = Attention(Additive(3, 5, hidden_dim=7), LocalP(query_dim=3, window=1))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 7, 5), Mask.padding([7, 3])
    out, memory, state = attention(query, key, mask=mask), attention.remember(key, mask=mask), None
    for t in range(4):
        step = attention.read(query[:, t : t + 1], memory, state)
        assert_close(step.context, out.context[:, t : t + 1].double(), tolerance=1e-5)
        state = step.state


def test_bad_arguments_are_named() -> None:
    energy = torch.randn(2, 3, 5, 7)
    with pytest.raises(ValueError, match=r"local_p: .* window must be >= 1; got 0"):
        local_p_weights(energy, torch.rand(2, 3, 5), window=0)
    with pytest.raises(ValueError, match=r"position \[B, H or 1, T\]; got \[2, 3, 5, 7\] and \[2, 2, 5\]"):
        local_p_weights(energy, torch.rand(2, 2, 5), window=1)
