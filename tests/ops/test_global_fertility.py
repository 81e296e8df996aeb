"""The global fertility loss."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Additive, Attention, GlobalFertility
from regard.ops import fertility_log_likelihood
from tests.mechanism import assert_close, check_gradients


def test_shapes() -> None:
    assert fertility_log_likelihood(torch.rand(3, 7), torch.rand(3, 7), torch.randn(3, 7)).shape == (3,)
    nothing = fertility_log_likelihood(torch.rand(3, 0), torch.rand(3, 0), torch.rand(3, 0))
    assert nothing.tolist() == [0.0, 0.0, 0.0]
    half = torch.ones(3, 7, dtype=torch.bfloat16)
    assert fertility_log_likelihood(half, half, half).dtype == torch.float32


def test_value_by_hand() -> None:
    """N(2; 1, 4): -(log 8π + 1/4) / 2; N(0; 0, 1): -(log 2π) / 2."""
    coverage, mean, variance = torch.tensor([[2.0, 0.0]]), torch.tensor([[1.0, 0.0]]), torch.tensor([[4.0, 1.0]])
    expected = -0.5 * (math.log(8 * math.pi) + 0.25 + math.log(2 * math.pi))
    assert_close(fertility_log_likelihood(coverage, mean, variance.log()), [expected])


def test_it_is_the_normal_density() -> None:
    coverage, mean, variance = torch.rand(3, 7), torch.randn(3, 7), torch.rand(3, 7) + 0.1
    normal = torch.distributions.Normal(mean, variance.sqrt())
    expected = normal.log_prob(coverage).sum(1)
    assert_close(fertility_log_likelihood(coverage, mean, variance.log()), expected.double(), tolerance=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("extreme", [-1e4, -110.0, 12.0, 110.0, 1e4])
def test_an_extreme_log_variance_counts_as_ten(extreme: float, dtype: torch.dtype) -> None:
    """Through exp, -110 is a variance of 0 in float32, and 12 one of infinity in float16."""
    coverage, mean = torch.tensor([[1.0, 1.0]], dtype=dtype), torch.tensor([[0.5, 1.0]], dtype=dtype)
    log_variance = torch.full((1, 2), extreme, dtype=dtype)
    ready = [tensor.requires_grad_() for tensor in (coverage, mean, log_variance)]
    likelihood = fertility_log_likelihood(*ready)
    bound = math.copysign(10.0, extreme)
    expected = -0.5 * (2 * math.log(2 * math.pi) + 2 * bound + 0.25 * math.exp(-bound))
    assert_close(likelihood, [expected], tolerance=1e-5)
    grads = torch.autograd.grad(likelihood.sum(), ready)
    assert all(torch.isfinite(grad).all() for grad in grads)
    assert (grads[2] == 0).all()


def test_mask() -> None:
    """Padding may hold anything, NaN too; a sentence without words has likelihood one, and sends back nothing."""
    coverage, mean, log_variance = torch.rand(2, 5), torch.rand(2, 5), torch.randn(2, 5)
    alone = fertility_log_likelihood(coverage[:1, :3], mean[:1, :3], log_variance[:1, :3])
    for tensor, rubbish in ((coverage, torch.nan), (mean, torch.inf), (log_variance, torch.nan)):
        tensor[0, 3:] = tensor[1] = rubbish
    ready = [tensor.requires_grad_() for tensor in (coverage, mean, log_variance)]
    likelihood = fertility_log_likelihood(coverage, mean, log_variance, Mask.padding([3, 0]))
    assert_close(likelihood[:1], alone.double())
    assert likelihood[1] == 0
    for grad in torch.autograd.grad(likelihood.sum(), ready):
        assert torch.isfinite(grad).all()
        assert (grad[0, 3:] == 0).all()
        assert (grad[1] == 0).all()


def test_sentence_marks_are_left_out_by_the_mask() -> None:
    coverage, mean, log_variance = torch.rand(2, 6), torch.rand(2, 6), torch.randn(2, 6)
    lengths = torch.tensor([6, 4])  # with BOS and EOS
    words = Mask.padding(lengths - 1) & Mask.of(torch.arange(6) > 0)
    likelihood = fertility_log_likelihood(coverage, mean, log_variance, words)
    for b, length in enumerate((6, 4)):
        at = (slice(b, b + 1), slice(1, length - 1))
        assert_close(likelihood[b : b + 1], fertility_log_likelihood(coverage[at], mean[at], log_variance[at]).double())


def test_gradients() -> None:
    mask = Mask.padding([3, 2])
    check_gradients(
        lambda coverage, mean, log_variance: fertility_log_likelihood(coverage, mean, log_variance, mask),
        torch.rand(2, 3),
        torch.randn(2, 3),
        torch.randn(2, 3),
    )


def test_the_expected_fertility_is_the_likeliest() -> None:
    mean, log_variance = torch.rand(3, 7), torch.rand(3, 7)
    best = fertility_log_likelihood(mean, mean, log_variance)
    assert (fertility_log_likelihood(mean + 0.1 * torch.randn(3, 7), mean, log_variance) < best).all()


def test_module_computes_the_equation() -> None:
    loss = GlobalFertility(key_dim=5, hidden_dim=7)
    coverage, key = torch.rand(2, 11), torch.randn(2, 11, 5)
    hidden = torch.tanh(key @ loss.key_map.weight.T)
    mean = hidden @ loss.mean_map.weight[0] + loss.mean_map.bias
    variance = torch.exp(hidden @ loss.log_variance_map.weight[0] + loss.log_variance_map.bias)
    density = torch.exp(-((coverage - mean) ** 2) / (2 * variance)) / (2 * math.pi * variance).sqrt()
    assert_close(loss(coverage, key), -density.log().sum(1).double(), tolerance=1e-5)
    assert_close(loss(coverage, key, Mask.padding([4, 11]))[0], -density[0, :4].log().sum().double(), tolerance=1e-5)


def test_a_weight_scales_the_loss() -> None:
    loss = GlobalFertility(5, 7)
    light = GlobalFertility(5, 7, weight=0.25)
    light.load_state_dict(loss.state_dict())
    coverage, key = torch.rand(2, 11), torch.randn(2, 11, 5)
    assert_close(light(coverage, key), 0.25 * loss(coverage, key))


def test_it_trains_the_attention() -> None:
    attention = Attention(Additive(3, 5, 7))
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    loss: Tensor = GlobalFertility(5, 7)(attention(query, key).coverage(), key).mean()
    grads = torch.autograd.grad(loss, list(attention.parameters()))
    assert all((grad != 0).any() for grad in grads)


def test_bad_shapes_are_named() -> None:
    with pytest.raises(ValueError, match=r"must be \[B, S\] alike.*got \[2, 3, 7\], \[2, 7\] and \[2, 7\]"):
        fertility_log_likelihood(torch.rand(2, 3, 7), torch.rand(2, 7), torch.rand(2, 7))
    with pytest.raises(ValueError, match=r"must share B and S; got \[2, 7\] and \[2, 6, 5\]"):
        GlobalFertility(5, 7)(torch.rand(2, 7), torch.rand(2, 6, 5))
