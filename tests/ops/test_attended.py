"""The outcome of a read: weights on demand, exact by every way."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from regard import Mask
from regard.nn import Attention, AttentionState, Dot
from regard.ops import Attended, Weights, additive_attention, scaled_dot_attention
from tests.mechanism import assert_close, check_gradients

HEADS, QUERIES, KEYS = 3, 5, 7


def read(impl: str) -> Attended:
    """A read with its weights made on the way ("reference") or rebuilt on demand; its first sequence sees nothing."""
    torch.manual_seed(1)
    query, key = torch.randn(2, HEADS, QUERIES, 11).double(), torch.randn(2, HEADS, KEYS, 11).double()
    mask = Mask.padding([0, 6]) & Mask.window(4)
    if impl in ("reference", "sdpa"):
        return scaled_dot_attention(query, key, key, mask, impl=impl)
    return additive_attention(
        query, key, key, torch.randn(HEADS, 11).double(), mask, impl=impl.removeprefix("additive-")
    )


PAIRS = pytest.mark.parametrize(
    ("plain", "fused"), [("reference", "sdpa"), ("additive-reference", "additive-blocked")], ids=["sdpa", "blocked"]
)


@PAIRS
@pytest.mark.parametrize("rows", [None, slice(1, 4), slice(None, None, 2), [3, 0, 0], [-1, 2], [], 2, -1], ids=str)
@pytest.mark.parametrize("heads", [None, slice(1, 3), [2, 0], 1, -3], ids=str)
def test_rows_and_heads(
    plain: str, fused: str, rows: slice | list[int] | int | None, heads: slice | list[int] | int | None
) -> None:
    everything = read(plain).weights()

    def index(chosen: slice | list[int] | int | None) -> slice | list[int]:
        return slice(None) if chosen is None else [chosen] if isinstance(chosen, int) else chosen

    expected = everything[:, index(heads)][:, :, index(rows)]
    for impl in (plain, fused):
        part = read(impl).weights(rows=rows, heads=heads)
        assert part.shape == expected.shape
        assert_close(part, expected, tolerance=1e-12)


@PAIRS
def test_reductions_are_the_same_by_both_ways(plain: str, fused: str) -> None:
    one, other = read(plain), read(fused)
    assert_close(other.entropy(), one.entropy(), tolerance=1e-12)
    assert_close(other.coverage(), one.coverage(), tolerance=1e-12)
    assert_close(other.topk(2).weights, one.topk(2).weights, tolerance=1e-12)
    assert torch.equal(other.topk(2).keys[1], one.topk(2).keys[1]), "where nothing is attended, any key will do"
    assert torch.equal(other.alignment(), one.alignment())
    assert_close(other.entropy(rows=[2, -1]), one.entropy()[..., [2, 4]], tolerance=1e-12)
    assert torch.equal(other.alignment(rows=1), one.alignment()[..., 1:2])
    assert torch.equal(other.topk(1, rows=slice(2)).keys[1], one.alignment()[1, :, :2, None])


@pytest.mark.parametrize("tile", [1, 2 * HEADS * KEYS, 3 * HEADS * KEYS * 2])
@pytest.mark.parametrize("impl", ["reference", "sdpa", "additive-blocked"])
def test_tiles_of_any_size_give_the_same(impl: str, tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def reductions() -> tuple[torch.Tensor, ...]:
        out = read(impl)
        return (*out.topk(3), out.entropy(), out.alignment(), out.coverage(), out.entropy(rows=[4, 1, 0]))

    whole = reductions()
    monkeypatch.setattr("regard.ops.weights._TILE", tile)
    for mine, theirs in zip(reductions(), whole, strict=True):
        assert_close(mine, theirs.double(), tolerance=1e-12)


def test_no_tile_is_larger_than_it_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def weigh(heads: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        asked.append(len(rows))
        return torch.full((2, len(heads), len(rows), KEYS), 1 / KEYS)

    monkeypatch.setattr("regard.ops.weights._TILE", 2 * 2 * HEADS * KEYS)
    out = Attended(torch.zeros(2, HEADS, QUERIES, 1), weigh, (2, HEADS, QUERIES, KEYS))
    assert_close(out.coverage(), torch.full((2, HEADS, KEYS), QUERIES / KEYS))
    assert asked == [2, 2, 1]


def by_hand() -> Attended:
    """Four queries over four keys: one key, all alike, nothing, and a half with two quarters."""
    weights = torch.tensor([[0.0, 1.0, 0.0, 0.0], [0.25] * 4, [0.0] * 4, [0.25, 0.0, 0.25, 0.5]])
    return Attended.from_weights(torch.zeros(1, 1, 4, 2), weights[None, None])


def test_entropy_by_hand() -> None:
    """log 1, log 4, nothing, and 2 * 1/4 * log 4 + 1/2 * log 2 = 3/2 log 2."""
    assert_close(by_hand().entropy(), [[[0.0, math.log(4), 0.0, 1.5 * math.log(2)]]])


def test_alignment_by_hand() -> None:
    alignment = by_hand().alignment()
    assert alignment[0, 0, [0, 2, 3]].tolist() == [1, -1, 3]
    assert alignment.dtype == torch.long


def test_coverage_counts_the_queries_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = torch.rand(2, 3, 5, 7)
    lengths = torch.tensor([5, 2])
    expected = torch.stack((weights[0].sum(1), weights[1, :, :2].sum(1)))
    for tile in (1, 1 << 22):
        monkeypatch.setattr("regard.ops.weights._TILE", tile)
        assert_close(Weights.of(weights).coverage(lengths=lengths), expected)


def test_coverage_by_hand() -> None:
    assert_close(by_hand().coverage(), [[[0.5, 1.25, 0.5, 0.75]]])


def test_topk_by_hand() -> None:
    top = by_hand().topk(2, rows=[0, 3])
    assert_close(top.weights, [[[[1.0, 0.0], [0.5, 0.25]]]])
    assert top.keys[0, 0, :, 0].tolist() == [1, 3]
    assert by_hand().topk(4).weights.shape == (1, 1, 4, 4)


def test_too_many_keys_are_refused() -> None:
    for k in (0, 5):
        with pytest.raises(ValueError, match=rf"topk\({k}\): there are 4 keys to choose from"):
            by_hand().topk(k)


def test_an_empty_memory() -> None:
    out = Attended.from_weights(torch.zeros(2, 1, 3, 5), torch.zeros(2, 1, 3, 0))
    assert torch.equal(out.entropy(), torch.zeros(2, 1, 3))
    assert torch.equal(out.alignment(), torch.full((2, 1, 3), -1))
    assert torch.equal(out.alignment(rows=0), torch.full((2, 1, 1), -1))
    assert out.coverage().shape == (2, 1, 0)


def test_no_queries() -> None:
    out = Attended.from_weights(torch.zeros(2, 1, 0, 5), torch.zeros(2, 1, 0, 3))
    assert out.entropy().shape == (2, 1, 0)
    assert out.alignment().shape == (2, 1, 0)
    assert out.topk(2).keys.shape == (2, 1, 0, 2)
    assert torch.equal(out.coverage(), torch.zeros(2, 1, 3))


@pytest.mark.parametrize("lengths", [[5, 5], [3, 0]], ids=str)
@pytest.mark.parametrize("impl", ["reference", "sdpa"])
def test_weights_and_reductions_are_differentiable(impl: str, lengths: list[int]) -> None:
    """Also where weights are exactly zero, and where a whole sequence is."""
    mask = Mask.padding(lengths)

    def reductions(query, key):  # type: ignore[no-untyped-def]
        out = scaled_dot_attention(query, key, key, mask, impl=impl)
        return out.weights(rows=[1, -1], heads=0), out.entropy(), out.coverage(), out.topk(2).weights

    check_gradients(reductions, torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4))


def test_a_module_without_heads_shows_none() -> None:
    out = Attention(Dot())(torch.randn(2, 5, 3), torch.randn(2, 7, 3))
    assert out.shape == (2, 1, 5, 7)
    assert out.weights().shape == (2, 5, 7)
    assert out.weights(rows=0).shape == (2, 1, 7)
    assert out.topk(2).keys.shape == (2, 5, 2)
    assert out.entropy().shape == out.alignment().shape == (2, 5)
    assert out.coverage().shape == (2, 7)


def test_replacing_keeps_the_weights() -> None:
    before = by_hand()
    after = before.replace(context=torch.ones(1, 4, 2), has_heads=False, state=AttentionState(3))
    assert after.context.shape == (1, 4, 2)
    assert after.state.step == 3
    assert torch.equal(after.weights(), before.weights().squeeze(1))
    assert before.context.shape == (1, 1, 4, 2)
    assert before.state is None


def test_it_says_what_it_is() -> None:
    assert repr(by_hand()) == "Attended(context=[1, 1, 4, 2], weights=[1, 1, 4, 4])"


def test_topk_names_no_key_without_weight() -> None:
    out = Weights.of(torch.tensor([[[[0.7, 0.3, 0.0], [0.0, 0.0, 0.0]]]]))
    assert out.topk(3).keys.tolist() == [[[[0, 1, -1], [-1, -1, -1]]]]


def test_what_spreads_a_model_over_devices_finds_the_tensors() -> None:
    """DistributedDataParallel looks for tensors in tuples, dicts and dataclasses."""
    out = Attention(Dot())(torch.randn(2, 3, 5))
    assert dataclasses.is_dataclass(out)
    assert any(getattr(out, field.name) is out.context for field in dataclasses.fields(out))
