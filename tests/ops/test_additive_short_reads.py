"""The kernels of short additive reads: on a GPU, or in Triton's interpreter on any machine.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_additive_short_reads.py
pytest -n0 --device cuda tests/ops/test_additive_short_reads.py
"""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.cuda_capture import recording
from regard.ops import additive_attention
from regard.ops.additive import api, short_reads
from tests.mechanism import assert_within_budget, magnitude

Inputs = list[Tensor]
MASKS = {
    "none": None,
    "padding": Mask.padding([23, 7]),
    "an empty sequence": Mask.padding([0, 23]),
    "causal": Mask.causal(),
    "padded window": Mask.window(5, ahead=2) & Mask.padding([3, 23]),
}
SIZES = [(19, 23, 37, 13), (1, 23, 5, 67), (41, 23, 3, 3)]
"""Queries, keys, width and width of the values."""


def build(heads: int, queries: int, keys: int, width: int, value: int) -> Inputs:
    """Query, key, value and weight, in float64; the first three are views whose heads lie apart."""
    shapes = [(2, queries, heads, width), (2, keys, heads, width), (2, keys, heads, value)]
    read = [torch.randn(shape, dtype=torch.float64).transpose(1, 2) for shape in shapes]
    return [*read, torch.randn(heads, width, dtype=torch.float64)]


def outcome(impl: str, inputs: Inputs, mask: Mask | None, dtype: torch.dtype) -> Inputs:
    """Context, weights, and all gradients of a sum over both that treats no two entries alike."""
    ready = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    out = additive_attention(*ready, mask, impl=impl)
    weights = out.weights()
    loss = sum((part.double() * probe(part)).sum() for part in (out.context, weights))
    assert isinstance(loss, Tensor)
    return [out.context.detach(), weights.detach(), *torch.autograd.grad(loss, ready)]


def probe(tensor: Tensor) -> Tensor:
    """Coefficients that half precision can represent too."""
    return torch.linspace(-1, 1, tensor.numel()).view_as(tensor).bfloat16().double()


def test_which_reads_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_reads, "kernels_supported", lambda *_: True)

    def fits(queries: int, keys: int, mask: Mask | None = None) -> bool:
        query, key = torch.empty(2, 1, queries, 3), torch.empty(2, 1, keys, 3)
        return short_reads.fits(query, key, key, mask)

    assert fits(64, 64, Mask.causal() & Mask.padding([3, 64]))
    assert not fits(65, 3)
    assert not fits(3, 65)
    assert not fits(0, 3)
    assert not fits(2, 2, Mask.of(torch.eye(2, dtype=torch.bool)))
    with recording():
        assert not fits(3, 3)


def test_what_it_cannot_read() -> None:
    query, key, value, weight = build(1, 3, 65, 5, 7)
    with pytest.raises(ValueError, match=r"short_reads.*65"):
        additive_attention(query, key, value, weight, impl="short_reads")
    short, dense = key[:, :, :3], Mask.of(torch.eye(3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"short_reads.*other masks"):
        additive_attention(query, short, short, weight, dense, impl="short_reads")
    with pytest.raises(ValueError, match=r"short_reads.*dropout"):
        additive_attention(query, query, query, weight, dropout=0.1, impl="short_reads")


class TestKernels:
    @pytest.fixture(autouse=True)
    def _where_they_run(self) -> None:
        if torch.get_default_device().type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
            pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("size", SIZES, ids=str)
    @pytest.mark.parametrize("name", MASKS)
    def test_equal_to_the_definition(self, name: str, size: tuple[int, int, int, int], dtype: torch.dtype) -> None:
        """Twice the error of plain PyTorch at the same precision, and two roundings."""
        mask = MASKS[name]
        inputs = [tensor.to(dtype).double() for tensor in build(3, *size)]
        truth = outcome("reference", inputs, mask, torch.float64)
        plain = outcome("reference", inputs, mask, dtype)
        actual = outcome("short_reads", inputs, mask, dtype)
        largest = max(magnitude(grad) for grad in truth[2:])
        for index, (mine, worse, true) in enumerate(zip(actual, plain, truth, strict=True)):
            assert mine.dtype == worse.dtype
            assert_within_budget(mine, worse, true, scale=largest if index > 1 else None, roundings=2)

    def test_a_row_with_nothing_to_attend_to(self) -> None:
        inputs = [tensor.float() for tensor in build(1, 5, 7, 3, 2)]
        outcomes = outcome("short_reads", inputs, Mask.padding([0, 7]), torch.float32)
        assert all(not tensor[0].any() for tensor in outcomes[:5])
        assert all(tensor.isfinite().all() for tensor in outcomes)

    def test_the_same_bits_every_time(self) -> None:
        inputs = [tensor.float() for tensor in build(2, 19, 23, 37, 13)]
        first, second = (outcome("short_reads", inputs, MASKS["padding"], torch.float32) for _ in range(2))
        assert all(one.equal(other) for one, other in zip(first, second, strict=True))

    def test_gradients_of_the_weights_alone(self) -> None:
        inputs = [tensor.float() for tensor in build(1, 5, 7, 3, 2)]

        def slopes(impl: str) -> Inputs:
            ready = [tensor.detach().requires_grad_() for tensor in (inputs[0], inputs[1], inputs[3])]
            out = additive_attention(ready[0], ready[1], inputs[2], ready[2], impl=impl)
            return list(torch.autograd.grad(out.weights().square().sum(), ready))

        for mine, theirs in zip(slopes("short_reads"), slopes("reference"), strict=True):
            torch.testing.assert_close(mine, theirs)

    def test_second_derivatives_are_those_of_the_definition(self) -> None:
        inputs = [tensor.float() for tensor in build(1, 5, 7, 3, 2)]

        def penalty(impl: str) -> Inputs:
            ready = [tensor.detach().requires_grad_() for tensor in inputs]
            out = additive_attention(*ready, Mask.padding([7, 4]), impl=impl)
            loss = out.context.square().sum() + out.weights().square().sum()
            slopes = torch.autograd.grad(loss, ready, create_graph=True)
            total = sum(slope.square().sum() for slope in slopes)
            assert isinstance(total, Tensor)
            return list(torch.autograd.grad(total, ready))

        for mine, theirs in zip(penalty("short_reads"), penalty("reference"), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)

    def test_it_is_chosen_in_eager_mode_on_a_gpu(self) -> None:
        if torch.get_default_device().type != "cuda":
            pytest.skip("a CPU has other implementations")
        inputs = [tensor.float() for tensor in build(1, 5, 7, 3, 2)]
        assert additive_attention(*inputs).impl == "short_reads"
        assert "short_reads" in api.CARD.kernels
