"""Harmonic attention in one kernel, on a Hopper GPU: pytest -n0 --device cuda tests/ops/test_additive_one_kernel.py"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.ops import additive_attention
from regard.ops.additive import harmonic, harmonic_fit, harmonic_reference
from regard.ops.additive.launch import choose as choose_launch
from regard.ops.additive.tiles import Operands
from tests.mechanism import error, magnitude
from tests.ops.test_additive_harmonic import Inputs, assert_gate_is_green, assert_within, build, truth_of

BF16 = torch.bfloat16


@pytest.fixture
def hopper(_on_device: None) -> None:
    if torch.get_default_device().type != "cuda" or torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the kernel needs a Hopper GPU (--device cuda)")
    tensor = torch.zeros(1, 1, 1, 16, dtype=BF16)
    if not harmonic.fits_one_kernel(tensor, tensor, tensor, None):
        pytest.skip("the kernel is written in the Gluon of Triton 3.6, which is not installed")


def fit_of(inputs: Inputs, tolerance: float = 6e-3) -> harmonic_fit.HarmonicFit:
    fit = harmonic_fit.choose(harmonic_reference.span(*inputs[:2])[0], tolerance, even=True)
    assert fit is not None
    return fit


def attend(inputs: Inputs, mask: Mask | None, fit: harmonic_fit.HarmonicFit) -> tuple[Tensor, Tensor]:
    """Context and log-sum-exp, in float32; float64 becomes bfloat16, other inputs are read where they lie."""
    from regard.ops.additive.one_kernel_call import OneKernelCall

    query, key, value, weight = (tensor.to(BF16) if tensor.dtype == torch.float64 else tensor for tensor in inputs)
    assert harmonic.fits_one_kernel(query, key, value, mask)
    launch = choose_launch(query.shape[3], key.shape[2], BF16, features=False, interpreted=False)
    operands = Operands(query, key, weight, None, None)
    return OneKernelCall(operands, value, mask, launch, fit, promised=True, save=True).read()


def compare(inputs: Inputs, mask: Mask | None = None, *, given: Inputs | None = None) -> None:
    """Hold the kernel to its bound; `given` are the same numbers as `inputs`, lying elsewhere."""
    fit = fit_of(inputs)
    assert_within(energy_bound(inputs, fit), *attend(given or inputs, mask, fit), inputs, mask, BF16)


def energy_bound(inputs: Inputs, fit: harmonic_fit.HarmonicFit) -> float:
    """What the fit errs by, what the recurrence in float16 adds, and the shifts' sums in float32."""
    query, key, _, weight = inputs
    total = float(weight.abs().sum(-1).max())
    rounded = sum(abs(c) * (3 * n * n + 2 * n + 2) * 2**-12 for n, c in enumerate(fit.amplitudes, 1))
    line = 2**-24 * weight.shape[1] * fit.slope * (magnitude(query) + magnitude(key))
    return total * (fit.error + rounded + line) + 1e-5


def test_the_features_of_any_even_fit_fit_into_shared_memory() -> None:
    """Two buffers of 256 keys by 16 numbers a term, and 256 values of 128, of the 227 KiB that a program may have."""
    most = max(fit.terms for fit in harmonic_fit.fits(even=True))
    assert 2 * (2 * most * 256 * 16 + 256 * 128) <= 227 * 1024


def test_what_it_does_not_read() -> None:
    """Nothing without a GPU, and nothing but bfloat16."""
    for dtype in (BF16, torch.float16, torch.float32):
        tensor = torch.zeros(1, 1, 3, 16, dtype=dtype, device="cpu")
        assert not harmonic.fits_one_kernel(tensor, tensor, tensor, None)


@pytest.mark.usefixtures("hopper")
class TestKernel:
    def test_sizes_that_are_left_to_others(self) -> None:
        def read(keys: int, width: int, value: int, mask: Mask | None = None) -> bool:
            query, key = torch.zeros(1, 1, 3, width, dtype=BF16), torch.zeros(1, 1, keys, width, dtype=BF16)
            return harmonic.fits_one_kernel(query, key, torch.zeros(1, 1, keys, value, dtype=BF16), mask)

        assert read(512, 16, 128)
        assert read(512, 16, 128, Mask.causal() & Mask.padding([7]))
        assert not read(513, 16, 128)
        assert not read(0, 16, 128)
        assert not read(512, 24, 128)
        assert not read(512, 16, 129)
        assert not read(512, 16, 128, Mask.of(torch.ones(512, dtype=torch.bool)))

    @pytest.mark.parametrize(
        "shape",
        [
            (1, 1, 1, 1, 16, 1), (2, 3, 133, 300, 48, 16), (1, 2, 300, 100, 16, 5), (3, 1, 257, 512, 128, 128),
            (1, 1, 128, 256, 32, 64), (1, 2, 5, 511, 80, 37), (2, 1, 129, 257, 256, 32),
        ],
        ids=str,
    )  # fmt: skip
    def test_odd_sizes(self, shape: tuple[int, ...]) -> None:
        compare(build(*shape, dtype=BF16))  # type: ignore[misc]

    @pytest.mark.parametrize(
        "mask",
        [
            Mask.padding([300, 0]), Mask.padding([299, 1]), Mask.padding([256, 257]), Mask.causal(),
            Mask.window(5, ahead=2),
            Mask.window(1) & Mask.padding([300, 9]), Mask.causal() & Mask.padding([280, 3]), Mask.window(40),
        ],
        ids=repr,
    )  # fmt: skip
    @pytest.mark.parametrize("queries", [133, 300, 391])
    def test_every_mask(self, mask: Mask, queries: int) -> None:
        compare(build(2, 2, queries, 300, 32, 16, dtype=BF16), mask)

    @pytest.mark.parametrize("reach", [0.2, 0.7, 1.0, 1.2])
    def test_few_sines_and_many(self, reach: float) -> None:
        query, key, value, weight = build(1, 2, 133, 260, 64, 16, dtype=BF16)
        query, key = ((reach * tensor).to(BF16).double() for tensor in (query, key))
        compare([query, key, value, weight])

    @pytest.mark.parametrize("scale", [1e-4, 300.0])
    def test_small_and_large_weights(self, scale: float) -> None:
        query, key, value, weight = build(1, 2, 17, 300, 32, 16, dtype=BF16)
        weight = (scale * weight).to(BF16).double()
        weight[1] = 0.0
        inputs = [query, key, value, weight]
        fit = fit_of(inputs)
        _, lse = attend(inputs, None, fit)
        assert error(lse, truth_of(inputs, None)[1]) <= energy_bound(inputs, fit)

    def test_weights_in_float32_and_weights_that_begin_at_an_odd_place(self) -> None:
        inputs = build(1, 3, 17, 300, 48, 16, dtype=BF16)
        weight = inputs[3]
        shifted = torch.full((weight.numel() + 1,), torch.nan, dtype=BF16)[1:].view_as(weight).copy_(weight)
        for given in (weight.float(), shifted):
            compare(inputs, given=[*inputs[:3], given])

    def test_far_from_zero_but_near_each_other(self) -> None:
        """|q| and |k| of 32, whose sums are small: angles are long, and still right."""
        query, key, value, weight = build(1, 1, 17, 19, 16, 3, dtype=BF16)
        compare([(query + 28).to(BF16).double(), (key - 28).to(BF16).double(), value, weight])

    def test_views_into_memory_full_of_nan(self) -> None:
        inputs = build(2, 2, 133, 300, 32, 16, dtype=BF16)
        views = []
        for tensor in inputs[:3]:
            batch, heads, rows, width = tensor.shape
            larger = torch.full((batch, rows + 300, heads + 1, width + 8), torch.nan, dtype=BF16)
            views.append(larger[:, :rows, :heads, :width].transpose(1, 2).copy_(tensor))
        compare(inputs, Mask.padding([300, 41]), given=[*views, inputs[3]])

    def test_the_gate(self) -> None:
        assert_gate_is_green(build(2, 2, 133, 300, 64, 32, dtype=BF16), BF16)

    def test_a_broken_promise_is_nan_and_a_kept_one_is_not(self) -> None:
        query, key, value, weight = (tensor.to(BF16) for tensor in build(1, 2, 17, 300, 16, 16, dtype=BF16))
        query, key = query.clamp(-2, 2), key.clamp(-2, 2)
        query[0, 1, 4, 2], key[0, 1, 9, 3] = 6.0, 5.0  # of two units: their sum is no energy's
        kept = additive_attention(query, key, value, weight, impl="harmonic", span=8.0).context
        assert torch.isfinite(kept).all()
        key[0, 1, 270, 2] = 5.0
        broken = additive_attention(query, key, value, weight, impl="harmonic", span=8.0).context
        assert torch.isfinite(broken[:, 0]).all()
        assert broken[0, 1, 4].isnan().all()
        key[0, 0, 3, 7] = torch.nan
        assert additive_attention(query, key, value, weight, impl="harmonic", span=8.0).context[0, 0].isnan().all()

    def test_the_same_bits_every_time_and_in_replays(self) -> None:
        query, key, value, weight = (tensor.to(BF16) for tensor in build(4, 2, 300, 512, 64, 64, dtype=BF16))

        def read() -> Tensor:
            return additive_attention(query, key, value, weight, impl="harmonic", span=10.0).context

        once = read()
        assert all(torch.equal(once, read()) for _ in range(20))
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            first, second = read(), read()
        for _ in range(5):
            first.zero_()
            second.zero_()
            graph.replay()
            assert torch.equal(first, once)
            assert torch.equal(second, once)
        assert torch.equal(once, read())
