"""Additive attention."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Mask
from regard.cuda_capture import recording
from regard.nn import Additive, Attention, Position
from regard.ops import additive_attention, additive_score, kernels
from regard.ops.additive import api, tiles
from tests.mechanism import assert_close, assert_within_budget, check_gradients, on_the_device

IMPLS = ("reference", "blocked", None)  # None: by sigmoids on a CPU


@pytest.mark.parametrize("impl", IMPLS)
def test_shapes(impl: str | None) -> None:
    query, key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 13)
    out = additive_attention(query, key, value, torch.randn(3, 7), impl=impl)
    assert out.context.shape == (2, 3, 5, 13)
    assert out.weights().shape == (2, 3, 5, 11)
    assert out.weights(rows=slice(1, 3), heads=[2, 0]).shape == (2, 2, 2, 11)


@pytest.mark.parametrize("impl", IMPLS)
def test_value_by_hand(impl: str | None) -> None:
    """Two hidden units: tanh(0) = 0 for the first key, v = (1, 2) and tanh(1) for the second."""
    query, key = torch.tensor([[[[0.0, 0.0]]]]), torch.tensor([[[[0.0, 0.0], [1.0, 1.0]]]])
    value, v = torch.tensor([[[[1.0], [3.0]]]]), torch.tensor([[1.0, 2.0]])
    second = 1 / (1 + math.exp(-3 * math.tanh(1)))
    out = additive_attention(query, key, value, v, impl=impl)
    assert_close(out.weights(), [[[[1 - second, second]]]])
    assert_close(out.context, [[[[1 + 2 * second]]]])


@pytest.mark.parametrize("impl", IMPLS)
def test_mask(impl: str | None) -> None:
    query, key, value, v = torch.randn(2, 1, 3, 5), torch.randn(2, 1, 7, 5), torch.randn(2, 1, 7, 2), torch.randn(1, 5)
    out = additive_attention(query, key, value, v, Mask.padding([4, 0]), impl=impl)
    assert (out.weights()[0, ..., 4:] == 0).all()
    assert_close(out.weights()[0].sum(-1), torch.ones(1, 3))
    assert (out.context[1] == 0).all()
    shorter = additive_attention(query[:1], key[:1, :, :4], value[:1, :, :4], v, impl=impl)
    assert_close(out.context[:1], shorter.context.double())


@pytest.mark.parametrize("impl", IMPLS)
def test_gradients(impl: str | None) -> None:
    mask = Mask.padding([3, 4]) & Mask.causal()

    def read(query, key, value, v, features, feature_weight):  # type: ignore[no-untyped-def]
        out = additive_attention(
            query, key, value, v, mask, features=features, feature_weight=feature_weight, impl=impl
        )
        return out.context, out.weights()

    check_gradients(
        read,
        torch.randn(2, 2, 2, 3),
        torch.randn(2, 2, 4, 3),
        torch.randn(2, 2, 4, 2),
        torch.randn(2, 3),
        torch.randn(2, 1, 2, 4, 2),
        torch.randn(2, 3, 2),
    )


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("queries", [1, 3])
def test_gradients_of_few_words(heads: int, queries: int) -> None:
    """The way that is chosen for them, where it makes no features."""
    mask = Mask.padding([3, 0])

    def read(query, key, value, v):  # type: ignore[no-untyped-def]
        out = additive_attention(query, key, value, v, mask)
        return out.context, out.weights()

    shapes = (2, heads, queries, 3), (2, heads, 5, 3), (2, heads, 5, 2), (heads, 3)
    check_gradients(read, *map(torch.randn, shapes))


@pytest.mark.parametrize("learned", [True, False])
def test_few_words_err_as_little_as_the_definition(learned: bool) -> None:
    """In float32, with and without a gradient of v, against the float64 truth."""
    query, key, value, v = (
        torch.randn(3, 1, 7, 61),
        torch.randn(3, 1, 53, 61),
        torch.randn(3, 1, 53, 11),
        torch.randn(1, 61),
    )
    mask = Mask.padding([53, 31, 0])
    found = []
    for impl, dtype in ((None, torch.float32), ("reference", torch.float32), ("reference", torch.float64)):
        ready = [tensor.to(dtype).requires_grad_() for tensor in (query, key, value)]
        weight = v.to(dtype).requires_grad_(learned)
        out = additive_attention(*ready, weight, mask, impl=impl)
        wanted = [*ready, weight] if learned else ready
        found.append([out.context, out.weights(), *torch.autograd.grad(out.context.square().sum(), wanted)])
    for mine, plain, truth in zip(*found, strict=True):
        assert_within_budget(mine, plain, truth)


@pytest.mark.parametrize("impl", IMPLS)
def test_a_shift_of_the_query_is_undone_by_the_keys(impl: str | None) -> None:
    """Only the sum q + k counts: the property of this score."""
    query, key, value, v = torch.randn(1, 2, 3, 5), torch.randn(1, 2, 7, 5), torch.randn(1, 2, 7, 2), torch.randn(2, 5)
    shift = torch.randn(5)
    moved = additive_attention(query + shift, key - shift, value, v, impl=impl)
    assert_close(moved.context, additive_attention(query, key, value, v, impl=impl).context.double(), tolerance=1e-5)


@pytest.mark.parametrize("mask", [None, Mask.causal(), Mask.window(37, ahead=5)], ids=str)
def test_many_tiles_equal_the_reference(mask: Mask | None) -> None:
    """Sizes that need several tiles in every direction, the last ones cut off."""
    query, key, value = (torch.randn(3, 2, length, 67) for length in (131, 149, 149))
    v, lengths = torch.randn(2, 67), Mask.padding([149, 70, 0])
    everything = lengths if mask is None else mask & lengths
    outcomes = []
    for impl in ("reference", "blocked"):
        ready = [tensor.double().detach().requires_grad_() for tensor in (query, key, value, v)]
        out = additive_attention(*ready, everything, impl=impl)
        loss = out.context.square().sum() + out.weights(rows=[3, 130]).square().sum()
        outcomes.append((out.context, out.entropy(), out.coverage(), *torch.autograd.grad(loss, ready)))
    for mine, theirs in zip(*outcomes, strict=True):
        assert_close(mine, theirs, tolerance=1e-10)


def test_energies_alone_are_the_same_by_both_ways() -> None:
    query, key, v = torch.randn(2, 2, 97, 31).double(), torch.randn(2, 2, 101, 31).double(), torch.randn(2, 31).double()
    assert_close(additive_score(query, key, v, impl="blocked"), additive_score(query, key, v, impl="reference"))


def test_module_computes_the_equation() -> None:
    score = Additive(query_dim=3, key_dim=5, hidden_dim=7)
    query, key = torch.randn(2, 11, 3), torch.randn(2, 13, 5)
    assert score.query_map is not None
    assert score.key_map is not None
    hidden = torch.tanh((query @ score.query_map.weight.T).unsqueeze(2) + (key @ score.key_map.weight.T).unsqueeze(1))
    expected = (hidden @ score.weight[0]).softmax(-1) @ key
    assert_close(Attention(score)(query, key).context, expected.double(), tolerance=1e-5)


def test_bad_shapes_are_named() -> None:
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    with pytest.raises(ValueError, match=r"weight must be \[H, A\] = \[3, 7\]; got \[2, 7\]"):
        additive_attention(query, key, key, torch.randn(2, 7))
    with pytest.raises(ValueError, match=r"share B, H and D; got \[2, 3, 5, 7\] and \[2, 3, 11, 6\]"):
        additive_attention(query, key[..., :6], key, torch.randn(3, 7))
    with pytest.raises(ValueError, match="no implementation 'triton'; there are reference, blocked"):
        additive_attention(query, key, key, torch.randn(3, 7), impl="triton")
    with pytest.raises(ValueError, match="impl='blocked' has no dropout"):
        additive_attention(query, key, key, torch.randn(3, 7), impl="blocked", dropout=0.5)
    with pytest.raises(ValueError, match="come together"):
        additive_attention(query, key, key, torch.randn(3, 7), features=torch.randn(2, 1, 5, 11, 3))


def test_fused_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_installed", lambda: False)  # as on a machine without it
    query, key = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 11, 7)
    with pytest.raises(ValueError, match="fused implementation needs Triton, which is not installed; use impl"):
        additive_attention(query, key, key, torch.randn(3, 7), impl="fused")


@pytest.mark.parametrize("impl", IMPLS)
def test_weights_stay_those_of_the_read_when_parameters_change(impl: str | None) -> None:
    attention = Attention(Additive(query_dim=3, key_dim=5, hidden_dim=7), impl=impl)
    optimizer = torch.optim.SGD(attention.parameters(), lr=1.0)
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    out = attention(query, key)
    before = out.weights().detach().clone()
    out.context.square().sum().backward()
    optimizer.step()
    assert torch.equal(out.weights(), before)


def test_blocked_can_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_ELEMENTS_ON_CPU", 500)
    query, key, v = (torch.randn(size, dtype=torch.float64) for size in ((2, 1, 13, 5), (2, 1, 11, 5), (1, 5)))
    mask = Mask.padding([11, 3]) & Mask.causal()
    expected = additive_attention(query, key, key, v, mask, impl="blocked").context
    monkeypatch.setattr(tiles, "_recorded", lambda: True)
    with on_the_device():
        recorded = additive_attention(query, key, key, v, mask, impl="blocked").context
    assert_close(recorded, expected)


def test_blocked_is_the_same_under_autocast() -> None:
    """Forward, backward and weights: all tiles in float32, so that the weights belong to their log-sum-exp."""
    inputs = [torch.randn(2, 2, 67, 31), torch.randn(2, 2, 71, 31), torch.randn(2, 2, 71, 3), torch.randn(2, 31)]

    def read() -> list[torch.Tensor]:
        ready = [tensor.clone().requires_grad_() for tensor in inputs]
        out = additive_attention(*ready, Mask.padding([71, 40]), impl="blocked")
        loss = out.context.square().sum() + out.weights().square().sum()
        return [out.context, out.weights(), *torch.autograd.grad(loss, ready)]

    plain = read()
    with torch.autocast(inputs[0].device.type, torch.bfloat16):
        mixed = read()
    assert_close(mixed[1].sum(-1), torch.ones(2, 2, 67))
    for mine, theirs in zip(mixed, plain, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.parametrize("impl", IMPLS)
def test_features_keep_places_apart_in_half_precision(impl: str | None) -> None:
    """bfloat16 has 8 bits: log(1 + i) of 1,000 places would be 148 numbers."""
    score = Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[Position()]).bfloat16()
    attention = Attention(score, impl=impl)
    out = attention(torch.zeros(1, 1, 3).bfloat16(), torch.zeros(1, 1000, 5).bfloat16())
    assert out.weights().unique().numel() > 900


def test_weights_are_dropped_the_plain_way() -> None:
    query, key = torch.randn(2, 4, 3), torch.randn(2, 6, 5)
    assert Attention(Additive(3, 5, 7), dropout=0.5)(query, key).context.shape == (2, 4, 5)
    with pytest.raises(ValueError, match="blocked cannot drop weights"):
        Attention(Additive(3, 5, 7), dropout=0.5, impl="blocked")


def test_a_transform_is_right_or_refused() -> None:
    query, key, v = torch.randn(1, 1, 2, 3), torch.randn(1, 1, 4, 3), torch.randn(1, 3)

    def total(query: torch.Tensor, impl: str) -> torch.Tensor:
        return additive_attention(query, key, key, v, impl=impl).context.sum()

    leaf = query.clone().requires_grad_()
    (expected,) = torch.autograd.grad(total(leaf, "blocked"), leaf)
    assert_close(torch.func.grad(total)(query, "reference"), expected.double())
    with pytest.raises(RuntimeError, match=r'cannot be transformed by torch\.func; use impl="reference"'):
        torch.func.grad(total)(query, "blocked")


def test_a_second_derivative_is_right_or_refused() -> None:
    query, key, v = torch.randn(1, 1, 2, 3, requires_grad=True), torch.randn(1, 1, 4, 3), torch.randn(1, 3)

    def slope(impl: str) -> torch.Tensor:
        context = additive_attention(query, key, key, v, impl=impl).context
        return torch.autograd.grad(context.sum(), query, create_graph=True)[0]

    slope("reference").square().sum().backward()
    assert query.grad is not None
    with pytest.raises(RuntimeError, match='no second derivative; use impl="reference"'):
        slope("blocked")


def test_what_is_recorded_goes_to_the_kernels_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, which takes longer to call a kernel than a small read takes, is gone from replays."""

    def method(batch: int, queries: int, large: str = "fused") -> str:
        query, key = (torch.empty(batch, 1, rows, 256, device="meta") for rows in (queries, 32))
        monkeypatch.setattr(api, "kernels_supported", lambda *_: large == "fused")
        return api._fastest(query, key, key, key, None, features=None, dropout=0.0)

    assert method(64, 32) == method(1024, 1) == "reference"
    assert method(1024, 32) == "fused"
    assert method(1024, 32, "blocked") == "blocked"
    with recording():
        assert method(64, 32) == "fused"
        assert method(64, 32, "blocked") == method(1024, 1) == method(8, 32) == "reference"
