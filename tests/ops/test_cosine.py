"""Cosine attention."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional as F

from regard import Mask
from regard.nn import Attention, Cosine
from regard.ops import cosine_attention, cosine_score
from tests.mechanism import assert_close, check_gradients

IMPLS = ("reference", "sdpa")


@pytest.mark.parametrize("impl", IMPLS)
def test_shapes(impl: str) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    out = cosine_attention(query, key, value, torch.rand(2, 3, 5), impl=impl)
    assert out.context.shape == (2, 3, 5, 13)
    assert out.weights().shape == (2, 3, 5, 11)
    assert cosine_score(query, key).shape == (2, 3, 5, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str) -> None:
    """(3, 4) has length 5: its cosines with (2, 0) and (0, 7) are 3/5 and 4/5; strength 5 makes them 3 and 4."""
    query, key = torch.tensor([[[[3.0, 4.0]]]]), torch.tensor([[[[2.0, 0.0], [0.0, 7.0]]]])
    second = math.e / (1 + math.e)
    out = cosine_attention(query, key, torch.tensor([[[[1.0], [3.0]]]]), torch.tensor([[[5.0]]]), impl=impl)
    assert_close(cosine_score(query, key), [[[[0.6, 0.8]]]])
    assert_close(cosine_score(query, key, torch.tensor([[[5.0]]])), [[[[3.0, 4.0]]]])
    assert_close(out.weights(), [[[[1 - second, second]]]])
    assert_close(out.context, [[[[1 + 2 * second]]]])


@pytest.mark.parametrize("strong", [True, False])
@pytest.mark.parametrize("mask", [None, Mask.padding([7, 3, 0]), Mask.causal()], ids=str)
def test_one_query_without_gradient_is_the_definition(mask: Mask | None, strong: bool) -> None:
    """Its keys are never made unit vectors; one of them has no length."""
    query, key, value = (torch.randn(3, 2, *size).double() for size in ((1, 5), (7, 5), (7, 11)))
    key[0, 0, 2] = 0.0
    strength = 5 * torch.rand(3, 2, 1).double() if strong else None
    with torch.no_grad():
        found = cosine_attention(query, key, value, strength, mask)
        wanted = cosine_attention(query, key, value, strength, mask, impl="reference")
    assert_close(found.context, wanted.context, tolerance=1e-12)
    assert_close(found.weights(), wanted.weights(), tolerance=1e-12)


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str) -> None:
    query, key, value = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(2, 1, 7, 2)
    strength = torch.rand(2, 1, 3)
    out = cosine_attention(query, key, value, strength, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    shorter = cosine_attention(query[:1], key[:1, :, :4], value[:1, :, :4], strength[:1], impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str) -> None:
    mask = Mask.padding([3, 0]) & Mask.causal()

    def read(query, key, value, strength):  # type: ignore[no-untyped-def]
        out = cosine_attention(query, key, value, strength, mask, impl=impl)
        return out.context, out.weights()

    check_gradients(
        read, torch.randn(2, 2, 2, 3), torch.randn(2, 2, 4, 3), torch.randn(2, 2, 4, 2), 1 + torch.rand(2, 2, 2)
    )


@pytest.mark.parametrize("impl", IMPLS)
def test_lengths_do_not_count(impl: str) -> None:
    """Every query and every key stretched by its own factor: the property of this score."""
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 2)
    stretched = cosine_attention(
        query * (0.01 + torch.rand(2, 3, 5, 1)), key * (100 * torch.rand(2, 3, 11, 1) + 1), value, impl=impl
    )
    assert_close(stretched.context, cosine_attention(query, key, value, impl=impl).context.double(), tolerance=1e-5)


@pytest.mark.parametrize("impl", IMPLS)
def test_strength_goes_from_everything_alike_to_the_nearest_alone(impl: str) -> None:
    query, key = torch.randn(1, 1, 5, 7), torch.randn(1, 1, 11, 7)
    nearest = F.one_hot(cosine_score(query, key).argmax(-1), 11)

    def weights(strength: float) -> torch.Tensor:
        return cosine_attention(query, key, key, torch.full((1, 1, 5), strength), impl=impl).weights()

    assert_close(weights(0.0), torch.full((1, 1, 5, 11), 1 / 11))
    assert_close(weights(1e4), nearest.double())
    ratio = weights(1.0).amax(-1) / weights(1.0).amin(-1)
    assert (ratio <= math.exp(2)).all(), "cosines lie within 2 of each other"


@pytest.mark.parametrize("impl", IMPLS)
def test_zero_vectors_are_finite(impl: str) -> None:
    """An empty memory row has cosine 0 with everything, and so has a zero query; gradients stay finite."""
    query, key, value = (torch.randn(1, 1, length, 3) for length in (2, 3, 3))
    query[0, 0, 0] = 0
    key[0, 0, 1] = 0
    ready = [tensor.requires_grad_() for tensor in (query, key, value)]
    out = cosine_attention(*ready, impl=impl)
    assert_close(out.weights()[0, 0, 0], torch.full((3,), 1 / 3))
    assert cosine_score(query, key)[0, 0, 1, 1].item() == 0
    for grad in torch.autograd.grad(out.context.square().sum(), ready):
        assert torch.isfinite(grad).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("impl", IMPLS)
def test_half_precision_rounds_inputs_and_outcome_only(impl: str, dtype: torch.dtype) -> None:
    """A strength of 50 makes 50 times more of every rounding on the way; entries of 3e4 have no float16 length."""
    query, key, value = torch.randn(2, 1, 5, 16), 3e4 * torch.rand(2, 1, 7, 16), torch.randn(2, 1, 7, 3)
    given = [tensor.to(dtype) for tensor in (query, key, value, torch.full((2, 1, 5), 50.0))]
    exact = [tensor.double() for tensor in given]
    half, truth = cosine_attention(*given, impl=impl), cosine_attention(*exact, impl="reference")
    energy = cosine_score(given[0], given[1], given[3])
    assert energy.dtype == torch.float32
    assert_close(energy, cosine_score(exact[0], exact[1], exact[3]), tolerance=2e-5)
    assert_close(half.weights(), truth.weights(), tolerance=2e-5)
    assert half.context.dtype == dtype
    assert_close(half.context, truth.context, tolerance=torch.finfo(dtype).eps)


@pytest.mark.parametrize("impl", IMPLS)
def test_autocast_does_not_round_unit_vectors(impl: str) -> None:
    query, key, strength = torch.randn(2, 1, 5, 16), torch.randn(2, 1, 7, 16), torch.full((2, 1, 5), 50.0)
    attention = Attention(Cosine(query_dim=16, key_dim=16), impl=impl)
    queries, memory = attention.score.queries(query[:, 0]), attention.remember(key[:, 0])
    start = attention.start(memory)
    plain = cosine_attention(query, key, key, strength, impl=impl).context
    by_module = attention.score.attend(50 * queries, memory, start, dropout=0.0, impl=impl).context
    with torch.autocast(query.device.type, torch.bfloat16):
        assert_close(cosine_attention(query, key, key, strength, impl=impl).context, plain.double())
        again = attention.score.attend(50 * queries, memory, start, dropout=0.0, impl=impl).context
    assert_close(again, by_module.double())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("impl", IMPLS)
def test_module_in_half_precision_has_vectors_of_exact_length(impl: str, dtype: torch.dtype) -> None:
    score = Cosine(query_dim=3, key_dim=16, num_heads=2).to(dtype)
    query, key = torch.randn(2, 5, 3).to(dtype), (3e4 * torch.rand(2, 7, 16)).to(dtype)
    strength = F.softplus(score.strength_map(query).double()).transpose(1, 2)
    assert_close(score.queries(query).norm(dim=-1), strength)
    assert_close(score.keys(key).norm(dim=-1), torch.ones(2, 2, 7))
    single = Cosine(query_dim=3, key_dim=16).to(dtype)
    out = Attention(single, impl=impl)(query, key, torch.randn(2, 7, 5).to(dtype))
    assert out.context.dtype == dtype
    assert torch.isfinite(out.context).all()
    assert_close(out.weights().sum(-1), torch.ones(2, 5))


def test_module_computes_the_equation() -> None:
    """Equations 5 and 6: a key vector and a strength above 0, both read off the query."""
    score = Cosine(query_dim=3, key_dim=5)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    assert score.query_map is not None
    aimed = query @ score.query_map.weight.T + score.query_map.bias
    strength = torch.log1p(torch.exp(query @ score.strength_map.weight.T + score.strength_map.bias))
    cosines = F.cosine_similarity(aimed.unsqueeze(2), key.unsqueeze(1), dim=-1)
    expected = (strength * cosines).softmax(-1)
    out = Attention(score)(query, key)
    assert_close(out.weights(), expected.double(), tolerance=1e-5)
    assert_close(out.context, (expected @ key).double(), tolerance=1e-5)


def test_soft_lengths_bound_the_slope_and_leave_long_keys_alone() -> None:
    score, soft = Cosine(query_dim=3, key_dim=4), Cosine(query_dim=3, key_dim=4, softness=0.3)
    by_hand = torch.tensor([[[0.4, 0.0, 0.0, 0.0]]])  # 0.4 : sqrt(0.16 + 0.09)
    assert_close(soft.keys(by_hand), [[[[0.8, 0.0, 0.0, 0.0]]]])
    long = torch.randn(2, 7, 4) + 1e4
    assert_close(soft.keys(long), score.keys(long).double())
    short = torch.full((1, 1, 4), 1e-6, requires_grad=True)
    slopes = [torch.autograd.grad(each.keys(short)[..., 0].sum(), short)[0].norm() for each in (score, soft)]
    assert slopes[0] > 1e5
    assert slopes[1] < 1.01 / 0.3


def test_step_by_step_is_all_at_once() -> None:
    attention = Attention(Cosine(query_dim=3, key_dim=5))
    query, key, mask = torch.randn(2, 4, 3), torch.randn(2, 11, 5), Mask.padding([11, 6])
    memory = attention.remember(key, mask=mask)
    steps = [attention.read(row, memory).context for row in query.split(1, dim=1)]
    assert_close(torch.cat(steps, dim=1), attention(query, key, mask=mask).context.double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    with pytest.raises(ValueError, match=r"strength must be \[B, H, T\] = \[2, 3, 5\]; got \[2, 3, 5, 1\]"):
        cosine_attention(query, key, key, torch.rand(2, 3, 5, 1))
    with pytest.raises(ValueError, match=r"cosine: .* share B, H and D; got \[2, 3, 5, 7\] and \[2, 3, 11, 6\]"):
        cosine_attention(query, key[..., :6], key)
    with pytest.raises(ValueError, match="cosine: no implementation 'flash'; there are reference, sdpa"):
        cosine_attention(query, key, key, impl="flash")
