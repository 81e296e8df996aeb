"""The softmax over what may be attended."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.nn import Attention, AttentionState, Dot, Memory, Softmax
from regard.ops import masked_softmax, softmax_attention
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    energy, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 7, 11)
    assert masked_softmax(energy).shape == (2, 3, 5, 7)
    assert softmax_attention(energy, value).context.shape == (2, 3, 5, 11)
    assert softmax_attention(energy, value[:, :1]).context.shape == (2, 3, 5, 11), "one value for all heads"


def test_value_by_hand() -> None:
    """Energies log 1, log 2, log 5: weights 1/8, 2/8, 5/8; with the last forbidden, 1/3 and 2/3."""
    energy = torch.tensor([0.0, math.log(2), math.log(5)]).view(1, 1, 1, 3)
    value = torch.tensor([8.0, 16.0, 24.0]).view(1, 1, 3, 1)
    assert_close(masked_softmax(energy), [[[[0.125, 0.25, 0.625]]]])
    assert_close(softmax_attention(energy, value).context, [[[[20.0]]]])
    assert_close(masked_softmax(energy, Mask.padding([2])), [[[[1 / 3, 2 / 3, 0.0]]]])
    assert_close(softmax_attention(energy, value, Mask.padding([2])).context, [[[[40 / 3]]]])


def test_mask() -> None:
    energy, mask = torch.randn(3, 2, 4, 5), Mask.padding([5, 3, 0]) & Mask.causal()
    weights = masked_softmax(energy, mask)
    allowed = mask.allowed((3, 2, 4, 5)).expand(3, 2, 4, 5)
    assert (weights[~allowed] == 0).all()
    assert (weights[allowed] > 0).all()
    assert_close(weights.sum(-1), allowed.any(-1).double())
    rubbish = masked_softmax(energy.masked_fill(~allowed, 1e30), mask)
    assert torch.equal(rubbish, weights)


def test_gradients() -> None:
    """The row that sees nothing among them."""
    mask = Mask.causal()

    def read(energy, value):  # type: ignore[no-untyped-def]
        out = softmax_attention(energy, value, mask)
        return out.context, out.weights()

    check_gradients(read, torch.randn(2, 2, 4, 3), torch.randn(2, 2, 3, 2))


def test_a_row_with_nothing_to_attend_to_sends_no_gradient() -> None:
    energy = torch.randn(1, 1, 2, 3, requires_grad=True)
    weights = masked_softmax(energy, Mask.of(torch.tensor([[True] * 3, [False] * 3])))
    (grad,) = torch.autograd.grad((weights * torch.arange(3.0)).sum(), energy)
    assert (grad[0, 0, 1] == 0).all()
    assert (grad[0, 0, 0] != 0).any()


def test_only_differences_count() -> None:
    """Shift invariance, of the weights and, as gradients that sum to zero, of everything after them."""
    energy = torch.randn(2, 3, 5, 7).double().requires_grad_()
    assert_close(masked_softmax(energy + 1000 * torch.randn(2, 3, 5, 1).double()), masked_softmax(energy).detach())
    (grad,) = torch.autograd.grad(masked_softmax(energy).square().sum(), energy)
    assert_close(grad.sum(-1), torch.zeros(2, 3, 5))


def test_an_energy_of_minus_infinity_may_not_be_attended() -> None:
    energy = torch.tensor([[0.0, -torch.inf, 0.0], [-torch.inf] * 3]).view(1, 1, 2, 3).requires_grad_()
    weights = masked_softmax(energy)
    assert_close(weights, [[[[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]]])
    (grad,) = torch.autograd.grad((weights * torch.arange(3.0)).sum(), energy)
    assert_close(grad, [[[[-0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]]])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow(dtype: torch.dtype) -> None:
    """Statistics are float32: neither exp(60,000) nor 4,096 ones, more than half precision can count, go wrong."""
    weights = masked_softmax(torch.full((1, 1, 1, 4096), 60000.0, dtype=dtype))
    assert weights.dtype == torch.float32
    assert_close(weights, torch.full((1, 1, 1, 4096), 1 / 4096))
    out = softmax_attention(torch.zeros(1, 1, 1, 4096, dtype=dtype), torch.ones(1, 1, 4096, 1, dtype=dtype))
    assert out.context.dtype == dtype
    assert out.context.item() == 1.0


def test_nothing_to_attend_to_at_all() -> None:
    energy = torch.randn(2, 3, 5, 0, requires_grad=True)
    out = softmax_attention(energy, torch.randn(2, 3, 0, 7), Mask.padding([0, 0]))
    assert out.weights().shape == (2, 3, 5, 0)
    assert torch.equal(out.context, torch.zeros(2, 3, 5, 7))
    assert torch.autograd.grad(out.context.sum(), energy)[0].shape == energy.shape


def test_dropout_is_on_the_way_to_the_context_only() -> None:
    out = softmax_attention(torch.zeros(1, 1, 400, 1), torch.ones(1, 1, 1, 1), dropout=0.5)
    assert set(out.context.unique().tolist()) == {0.0, 2.0}
    assert (out.weights() == 1).all()


def test_module_is_the_op() -> None:
    energy, mask = torch.randn(2, 1, 5, 7), Mask.padding([7, 4])
    memory = Memory(torch.randn(2, 1, 7, 3), torch.randn(2, 1, 7, 3), mask)
    weights, past, sample = Softmax()(energy, torch.randn(2, 5, 3), memory, AttentionState())
    assert torch.equal(weights, masked_softmax(energy, mask))
    assert past == ()
    assert sample is None


def test_a_reader_drops_in_training_only() -> None:
    attention = Attention(Dot(), dropout=0.5)
    query, key = torch.randn(1, 40, 8), torch.randn(1, 1, 8)
    assert (attention(query, key, torch.ones(1, 1, 8)).context == 0).any()
    attention.eval()
    assert (attention(query, key, torch.ones(1, 1, 8)).context == 1).all()


def test_a_named_implementation_needs_the_softmax() -> None:
    class Other(Softmax):
        pass

    with pytest.raises(ValueError, match=r"impl='sdpa' chooses among .*; Other has none"):
        Attention(Dot(), Other(), impl="sdpa")
