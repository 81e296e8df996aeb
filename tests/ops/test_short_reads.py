"""Short reads by one kernel: which they are, and the same context and gradients as the definition.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_short_reads.py runs the kernels without a GPU.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.cuda_capture import recording
from regard.ops import scaled_dot_attention
from regard.ops.inner_product import short_reads
from regard.ops.inner_product.short_reads import short_attention, short_fits
from regard.ops.limits import MaskLimits
from regard.train.cuda_graphs import CudaUpdateGraphs
from tests.mechanism import assert_within_budget, magnitude

Read = Callable[..., Tensor]
MASKS = [
    None,
    Mask.padding([19, 7]),
    Mask.padding([0, 19]),
    Mask.causal(),
    Mask.causal() & Mask.padding([3, 19]),
    Mask.window(5, ahead=2),
]
SIZES = [(19, 19, 13, 13), (1, 19, 64, 64), (32, 31, 64, 5), (11, 19, 3, 13)]
"""Queries, keys, and the widths of keys and values."""
LONGER = [(37, 19, 17, 5), (61, 64, 64, 64), (33, 47, 256, 200), (11, 19, 3, 130)]
"""Longer or wider ones, which the kernels have in half precision."""
HALF = [torch.bfloat16, torch.float16]
CASES = [
    *((size, dtype) for size in SIZES for dtype in (torch.float32, *HALF)),
    *((size, dtype) for size in LONGER for dtype in HALF),
]


def learned(inputs: list[Tensor], upstream: Tensor, read: Read) -> list[Tensor]:
    """The context and the gradients of all inputs."""
    ready = [tensor.detach().requires_grad_() for tensor in inputs]
    context = read(*ready)
    return [context.detach(), *torch.autograd.grad(context, ready, upstream.to(context.dtype))]


def by_kernel(mask: Mask | None, dropout: float = 0.0) -> Read:
    def read(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        shape = (query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        return short_attention(query, key, value, mask, shape, scale=query.shape[3] ** -0.5, dropout=dropout)

    return read


def by_definition(mask: Mask | None, impl: str = "reference") -> Read:
    return lambda query, key, value: scaled_dot_attention(query, key, value, mask, impl=impl).context


def assert_equal_to_the_definition(
    actual: list[Tensor], inputs: list[Tensor], upstream: Tensor, mask: Mask | None
) -> None:
    truth = learned([tensor.double() for tensor in inputs], upstream, by_definition(mask))
    plain = learned(inputs, upstream, by_definition(mask, "sdpa"))
    largest = max(magnitude(gradient) for gradient in truth[1:])
    for place, (true, worse, mine) in enumerate(zip(truth, plain, actual, strict=True)):
        assert mine.dtype == inputs[0].dtype
        assert_within_budget(mine, worse, true, scale=largest if place else None, roundings=2)


def some(queries: int, keys: int, width: int, value_width: int, dtype: torch.dtype) -> tuple[list[Tensor], Tensor]:
    sizes = (queries, width), (keys, width), (keys, value_width)
    inputs = [torch.randn(2, 3, *size).to(dtype) for size in sizes]
    return inputs, torch.randn(2, 3, queries, value_width).to(dtype)


def test_which_reads_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_reads, "kernels_supported", lambda *_: True)
    monkeypatch.setattr(short_reads, "_suits", lambda _: True)

    def fits(length: int, width: int, mask: Mask | None = None, dtype: torch.dtype = torch.bfloat16) -> bool:
        words = torch.empty(2, 1, length, width, dtype=dtype)
        return short_fits(words, words, words, mask, (2, 1, length, length))

    assert not fits(32, 64)  # called from Python
    with recording():
        assert fits(32, 64)
        assert fits(64, 256, Mask.causal() & Mask.padding(torch.tensor([3, 64])))
        assert not fits(65, 64)
        assert not fits(32, 257)
        assert fits(32, 64, dtype=torch.float32)
        assert not fits(33, 64, dtype=torch.float32)
        assert not fits(32, 65, dtype=torch.float32)
        assert not fits(32, 64, Mask.of(torch.ones(32, dtype=torch.bool)))
        monkeypatch.setattr(short_reads, "_suits", lambda _: False)
        assert not fits(32, 64)


@pytest.mark.parametrize(
    ("capability", "shared", "suits"),
    [((9, 0), 227 << 10, True), ((8, 0), 163 << 10, False), ((12, 0), 99 << 10, False)],
)
def test_which_gpus_it_is_for(
    capability: tuple[int, int], shared: int, suits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(shared_memory_per_multiprocessor=shared)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: found)
    monkeypatch.setattr(short_reads, "capability", lambda _: capability)
    assert short_reads._suits.__wrapped__(torch.device("cuda")) == suits


class TestKernels:
    @pytest.fixture(autouse=True)
    def only_where_they_run(self) -> None:
        if torch.get_default_device().type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
            pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")

    @pytest.mark.parametrize(("size", "dtype"), CASES, ids=str)
    @pytest.mark.parametrize("mask", MASKS, ids=repr)
    def test_they_equal_the_definition(
        self, mask: Mask | None, size: tuple[int, int, int, int], dtype: torch.dtype
    ) -> None:
        inputs, upstream = some(*size, dtype)
        assert_equal_to_the_definition(learned(inputs, upstream, by_kernel(mask)), inputs, upstream, mask)

    def test_a_query_with_nothing_to_read_has_and_teaches_nothing(self) -> None:
        inputs, upstream = some(5, 7, 16, 16, torch.bfloat16)
        context, *gradients = learned(inputs, upstream, by_kernel(Mask.padding([0, 7])))
        assert not context[0].any()
        assert not any(gradient[0].any() for gradient in gradients)

    def test_dropped_weights_teach_nothing(self) -> None:
        """What was dropped is seen by reading one-hot values; then all is the definition's with those factors."""
        inputs, upstream = some(31, 19, 16, 16, torch.float32)
        mask, drop = Mask.padding([19, 11]), 0.3
        one_hot = torch.eye(19).expand(2, 3, 19, 19)
        weights = by_definition(mask)(*inputs[:2], one_hot)
        torch.manual_seed(5)
        factors = by_kernel(mask, drop)(*inputs[:2], one_hot) / weights.clamp(min=1e-30)
        told = factors[weights > 0]
        torch.testing.assert_close(told, (told > 0.5) / (1 - drop))
        assert abs(float((told == 0).float().mean()) - drop) < 0.05

        def dropped(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return (by_definition(mask)(query, key, one_hot.to(query)) * factors.to(query)) @ value

        torch.manual_seed(5)
        actual = learned(inputs, upstream, by_kernel(mask, drop))
        for mine, true in zip(actual, learned([part.double() for part in inputs], upstream, dropped), strict=True):
            torch.testing.assert_close(mine, true.float(), rtol=1e-4, atol=1e-5)

    def test_other_weights_are_dropped_each_time(self) -> None:
        inputs, _ = some(19, 19, 16, 16, torch.float32)
        read = by_kernel(None, 0.5)
        assert not torch.equal(read(*inputs), read(*inputs))

    def test_words_that_lie_anywhere_in_memory_full_of_nan(self) -> None:
        larger = torch.full((3, 23, 4, 42), torch.nan)
        words = larger.transpose(1, 2)[1:, :3, 2:21, 1:33:2]
        words.copy_(torch.randn(2, 3, 19, 16))
        inputs, upstream = [words, *some(19, 19, 16, 16, torch.float32)[0][1:]], torch.randn(2, 3, 16, 19).mT
        actual = learned(inputs, upstream, by_kernel(Mask.padding([7, 19])))
        assert_equal_to_the_definition(actual, inputs, upstream, Mask.padding([7, 19]))

    def test_the_heads_of_a_word_lie_side_by_side(self) -> None:
        (query, key, value), _ = some(5, 7, 16, 13, torch.bfloat16)
        assert by_kernel(None)(query, key, value).transpose(1, 2).is_contiguous()

    def test_lengths_share_what_is_compiled(self) -> None:
        """A batch has lengths of its own, which may not cost a compiler's second each."""
        from regard.ops.inner_product.kernels import _tile

        def tile(queries: int, keys: int) -> dict[str, Any]:
            (query, key, value), _ = some(queries, keys, 64, 64, torch.bfloat16)
            return _tile(query, key, value, MaskLimits(), None)

        assert tile(1, 7) == tile(32, 32) != tile(33, 1) == tile(64, 64)

    def test_no_words(self) -> None:
        inputs, upstream = some(0, 7, 16, 16, torch.bfloat16)
        context, *gradients = learned(inputs, upstream, by_kernel(None))
        assert context.shape == (2, 3, 0, 16)
        assert not any(gradient.any() for gradient in gradients)

    def test_there_is_no_second_derivative(self) -> None:
        words = torch.randn(1, 1, 3, 16, requires_grad=True)
        context = by_kernel(None)(words, words, words)
        with pytest.raises(RuntimeError, match="no second derivative"):
            torch.autograd.grad(context.sum(), words, create_graph=True)


def test_a_recorded_read_follows_its_lengths() -> None:
    if torch.get_default_device().type != "cuda":
        pytest.skip("a recording is replayed on a GPU (--device cuda)")
    inputs, upstream = some(19, 19, 64, 64, torch.bfloat16)
    lengths, found = torch.tensor([19, 7]), list[Tensor]()

    def run() -> None:
        mask = Mask.padding(lengths)
        assert short_fits(*inputs, mask, (2, 3, 19, 19))
        found[:] = learned(inputs, upstream, lambda *words: scaled_dot_attention(*words, mask).context)

    with recording():
        replay = CudaUpdateGraphs()(run)
    for other in ([7, 19], [0, 1], [19, 7]):
        lengths.copy_(torch.tensor(other))
        replay()
        assert_equal_to_the_definition(found, inputs, upstream, Mask.padding(other))


def test_replays_drop_other_weights_and_the_same_after_the_same_seed() -> None:
    if torch.get_default_device().type != "cuda":
        pytest.skip("a recording is replayed on a GPU (--device cuda)")
    inputs, upstream = some(19, 19, 64, 64, torch.bfloat16)
    found, seen = list[Tensor](), list[list[Tensor]]()

    def run() -> None:
        found[:] = learned(inputs, upstream, lambda *words: scaled_dot_attention(*words, dropout=0.5).context)

    with recording():
        replay = CudaUpdateGraphs()(run)
    for seed in (1, None, 1):
        if seed is not None:
            torch.manual_seed(seed)
        replay()
        seen.append([part.clone() for part in found])
    first, second, third = seen
    assert not any(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert all(torch.equal(one, other) for one, other in zip(first, third, strict=True))
