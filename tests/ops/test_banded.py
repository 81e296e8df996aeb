"""Windows by blocks: the same as the definition, without the pairs outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from regard import Mask
from regard.ops import local_m_weights, scaled_dot_attention
from regard.ops.inner_product.banded import Band, windowed_attention
from tests.mechanism import assert_close, assert_within_budget, check_gradients, magnitude

LENGTHS = Mask.padding([0, 130])


def by_blocks(query: Tensor, key: Tensor, value: Tensor, mask: Mask) -> Tensor:
    batch, heads, queries, _ = query.shape
    lengths, first, last, _ = mask.spans((batch, heads, queries, key.shape[2]))
    assert first is not None
    assert last is not None
    band = Band((batch, heads, queries, key.shape[2]), first, last - first, lengths)
    return windowed_attention(query, key, value, band, scale=0.5)


@pytest.mark.parametrize(
    "mask",
    [Mask.window(1), Mask.window(7), Mask.window(71, ahead=3), Mask.window(9, ahead=4) & LENGTHS,
     Mask.window(9, ahead=4) & Mask.causal()],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(("queries", "keys"), [(1, 131), (67, 131), (131, 131), (149, 131)])
def test_it_equals_the_definition(mask: Mask, queries: int, keys: int) -> None:
    """Also queries before the first key, which see nothing, and a sequence without keys."""
    sizes = ((queries, 5), (keys, 5), (keys, 3))
    inputs = [torch.randn(2, 3, length, width).double().requires_grad_() for length, width in sizes]
    expected = scaled_dot_attention(*inputs, mask, scale=0.5, impl="reference").context
    actual = by_blocks(*inputs, mask)
    assert_close(actual, expected.detach(), tolerance=1e-12)
    upstream = torch.randn_like(actual)
    found = torch.autograd.grad(actual, inputs, upstream)
    for mine, theirs in zip(found, torch.autograd.grad(expected, inputs, upstream), strict=True):
        assert_close(mine, theirs, tolerance=1e-12)


@pytest.mark.parametrize(
    "mask", [Mask.window(7), Mask.window(31, ahead=9), Mask.window(9, ahead=4) & LENGTHS], ids=repr
)
@pytest.mark.parametrize(("queries", "keys"), [(1, 131), (67, 131), (131, 131), (149, 131)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_to_its_budget(mask: Mask, queries: int, keys: int, dtype: torch.dtype) -> None:
    """On a GPU a window without padding is flash attention's own."""
    inputs = [torch.randn(2, 3, length, 16).to(dtype) for length in (queries, keys, keys)]
    upstream = torch.randn_like(inputs[0])

    def run(kind: torch.dtype, read: Callable[..., Tensor]) -> list[Tensor]:
        ready = [tensor.to(kind).requires_grad_() for tensor in inputs]
        context = read(*ready, mask)
        return [context.detach(), *torch.autograd.grad(context, ready, upstream.to(kind))]

    def definition(*given: Any) -> Tensor:
        return scaled_dot_attention(*given, scale=0.5, impl="reference").context

    truth, plain, actual = run(torch.float64, definition), run(dtype, definition), run(dtype, by_blocks)
    largest = max(magnitude(gradient) for gradient in truth[1:])
    for place, (true, worse, mine) in enumerate(zip(truth, plain, actual, strict=True)):
        assert_within_budget(mine, worse, true, scale=largest if place else None, roundings=2)


def test_gradients() -> None:
    query, key = torch.randn(1, 1, 5, 2), torch.randn(1, 1, 5, 2)
    check_gradients(lambda q, k: by_blocks(q, k, k, Mask.window(2)), query, key)


@pytest.mark.parametrize(
    "mask", [None, Mask.causal(), Mask.padding([300]), Mask.window(9) & Mask.of(torch.ones(300, dtype=torch.bool))]
)
def test_another_mask_has_no_band(mask: Mask | None) -> None:
    assert Band.of(mask, (1, 1, 300, 300)) is None


def test_local_m_where_queries_are_keys_is_a_centred_window() -> None:
    query = torch.randn(1, 2, 201, 3).double()
    energy = query @ query.mT / 3**0.5
    expected = local_m_weights(energy, window=4) @ query
    assert_close(scaled_dot_attention(query, query, query, Mask.window(9, ahead=4)).context, expected)


class Largest(TorchDispatchMode):
    """The elements of the largest tensor that is made."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.numel())
        return made


def test_no_tensor_has_all_pairs() -> None:
    query = torch.randn(1, 1, 1024, 8, requires_grad=True)
    with Largest() as seen:
        scaled_dot_attention(query, query, query, Mask.window(16)).context.sum().backward()
    assert 1024 * 79 <= seen.elements < 1024 * 128  # a slab of 64 + 15 keys for each query, not 1024
