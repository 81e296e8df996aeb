"""Additive attention by harmonic features: the algebra anywhere, the kernels on a GPU or in Triton's interpreter.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_additive_harmonic.py
pytest -n0 --device cuda tests/ops/test_additive_harmonic.py
"""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.ops import additive_attention
from regard.ops.additive import harmonic, harmonic_fit, harmonic_reference, reference
from regard.ops.additive.launch import FeatureTile, HarmonicTile, choose_tile
from regard.ops.additive.launch import choose as choose_launch
from regard.ops.additive.tiles import Operands
from tests.mechanism import assert_close, error, magnitude

Inputs = list[Tensor]


def interpreted() -> bool:
    if importlib.util.find_spec("triton") is None:
        return False
    import triton

    return bool(triton.knobs.runtime.interpret)


@pytest.fixture
def kernels(_on_device: None) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    if not interpreted() and torch.get_default_device().type != "cuda":
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")


def sizes(*small: int) -> tuple[int, ...]:
    """Sizes for the interpreter; queries and keys are 11 times as many on a GPU, for tiles that are larger as well."""
    batch, heads, queries, keys, width, value = small
    many = 1 if interpreted() else 11
    return batch, heads, many * queries, many * keys, width if many == 1 else 4 * width + 1, value


def build(
    batch: int, heads: int, queries: int, keys: int, width: int, value: int, dtype: torch.dtype = torch.float16
) -> Inputs:
    """query, key, value and weight, in float64, but such that `dtype` can represent them."""
    shapes = [(batch, heads, queries, width), (batch, heads, keys, width), (batch, heads, keys, value), (heads, width)]
    drawn = [torch.randn(shape, dtype=torch.float64, device="cpu") for shape in shapes]
    drawn[3] /= math.sqrt(width)
    return [tensor.to(dtype).double().to(torch.get_default_device()) for tensor in drawn]


def truth_of(inputs: Inputs, mask: Mask | None) -> tuple[Tensor, Tensor]:
    """Context and log-sum-exp in float64."""
    query, key, value, weight = inputs
    energy = reference.score(query, key, weight, features=None, feature_weight=None)
    if mask is not None:
        shape = (*query.shape[:3], key.shape[2])
        energy = energy.masked_fill(~mask.allowed(shape, device=energy.device), -torch.inf)
    lse = energy.logsumexp(-1)
    return torch.exp(energy - lse.masked_fill(lse == -torch.inf, 0.0).unsqueeze(3)) @ value, lse


def energy_bound(inputs: Inputs, fit: harmonic_fit.HarmonicFit) -> float:
    """How far an energy may be off: the fit's error, and what rounding adds to it."""
    total = float(inputs[3].double().abs().sum(-1).max())
    return total * fit.error + rounding_bound(inputs, fit)


def rounding_bound(inputs: Inputs, fit: harmonic_fit.HarmonicFit) -> float:
    """Two roundings to float16 of each product of features, and the shifts' sums in float32."""
    query, key, _, weight = inputs
    total = float(weight.double().abs().sum(-1).max())
    line = 2**-24 * weight.shape[1] * fit.slope * (magnitude(query) + magnitude(key))
    return total * (2**-10 * sum(map(abs, fit.amplitudes)) + line) + 1e-5


def attend(
    inputs: Inputs,
    mask: Mask | None,
    fit: harmonic_fit.HarmonicFit,
    dtype: torch.dtype,
    tile: HarmonicTile | None = None,
) -> tuple[Tensor, Tensor]:
    """Context and log-sum-exp by the kernels, in float32."""
    from regard.ops.additive.harmonic_call import HarmonicCall

    query, key, value, weight = (tensor.to(dtype) for tensor in inputs)
    launch = choose_launch(query.shape[3], key.shape[2], dtype, features=False, interpreted=interpreted())
    return HarmonicCall(Operands(query, key, weight, None, None), value, mask, launch, fit, tile).read()


def compare(
    inputs: Inputs, mask: Mask | None, *, dtype: torch.dtype = torch.float16, tolerance: float = 1e-3, **options: object
) -> None:
    """Hold the kernels to their bound: no energy is off by more, hence no log-sum-exp, and no weight by twice it."""
    fit = harmonic_fit.choose(harmonic_reference.span(*inputs[:2])[0], tolerance)
    assert fit is not None
    context, lse = attend(inputs, mask, fit, dtype, **options)  # type: ignore[arg-type]
    assert_within(energy_bound(inputs, fit), context, lse, inputs, mask, dtype)


def assert_within(
    bound: float, context: Tensor, lse: Tensor, inputs: Inputs, mask: Mask | None, dtype: torch.dtype
) -> None:
    """Context and log-sum-exp are what energies within `bound` of the exact ones can give; empty rows are zeros."""
    true_context, true_lse = truth_of(inputs, mask)
    empty = true_lse == -torch.inf
    assert torch.equal(lse == -torch.inf, empty)
    assert (context[empty] == 0).all()
    assert torch.isfinite(context).all()
    assert error(lse[~empty], true_lse[~empty]) <= bound
    # The weights, rounded before they meet the values, sum to nearly 1.
    allowed = (math.expm1(2 * bound) + torch.finfo(dtype).eps) * magnitude(inputs[2])
    assert error(context, true_context) <= allowed


@pytest.mark.parametrize(
    "fit",
    [*harmonic_fit.fits(), *harmonic_fit.fits(even=True)],
    ids=lambda fit: f"span {fit.span}, {fit.terms} {'even ' * fit.even}terms",
)
def test_every_fit_keeps_its_word(fit: harmonic_fit.HarmonicFit) -> None:
    x = torch.linspace(-fit.span, fit.span, 20011, dtype=torch.float64)
    waves = torch.tensor(fit.frequencies, dtype=torch.float64)[:, None] * x
    sines = torch.tensor(fit.amplitudes, dtype=torch.float64) @ waves.sin()
    found = float((fit.slope * x + sines - x.tanh()).abs().max())
    assert 0.95 * fit.error <= found <= fit.error
    assert len(fit.amplitudes) == fit.terms
    if fit.even:
        assert fit.frequencies == tuple(n * fit.frequencies[0] for n in range(1, fit.terms + 1))


@pytest.mark.parametrize("fits", [harmonic_fit.fits(), harmonic_fit.fits(even=True)], ids=["any", "even"])
def test_more_terms_err_less_and_wider_spans_need_more(fits: tuple[harmonic_fit.HarmonicFit, ...]) -> None:
    for one in fits:
        for other in fits:
            if one.span == other.span and one.terms < other.terms:
                assert other.error < one.error
            if one.span < other.span and one.terms == other.terms:
                assert one.error < other.error


def test_the_choice_has_the_fewest_terms_that_are_enough() -> None:
    for span in (0.0, 0.3, 1.0, 5.5, 8.3, 15.9, 20.0):
        for tolerance in (1e-2, *harmonic_fit.TOLERANCE.values(), 1e-3):
            fit = harmonic_fit.choose(span, tolerance)
            assert fit is not None
            assert fit.span >= span
            assert fit.error <= tolerance
            able = [f.terms for f in harmonic_fit.fits() if f.span >= span and f.error <= tolerance]
            assert fit.terms == min(able)
    assert harmonic_fit.choose(20.5, 1e-2) is None
    assert harmonic_fit.choose(1.0, 1e-9) is None
    assert harmonic_fit.choose(math.nan, 1e-2) is None


@pytest.mark.parametrize("reach", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4])
def test_energies_are_within_the_bound(reach: float, tolerance: float) -> None:
    query, key, _, weight = build(2, 3, 11, 13, 7, 1)
    query, key = reach * query, reach * key
    fit = harmonic_fit.choose(harmonic_reference.span(query, key)[0], tolerance)
    assert fit is not None
    exact = reference.score(query, key, weight, features=None, feature_weight=None)
    actual = harmonic_reference.score(query, key, weight, fit)
    bound = float(weight.abs().sum(-1).max()) * fit.error
    assert bound / 100 < error(actual, exact) <= bound


def test_the_line_gives_each_row_a_shift() -> None:
    """Without its slope a fit's energies lack α Σ_a v_a (q_a + k_a), and are far from the exact ones."""
    query, key, _, weight = build(2, 3, 5, 7, 4, 1)
    weight = weight.abs()
    fit = harmonic_fit.choose(harmonic_reference.span(query, key)[0], 1e-3)
    assert fit is not None
    exact = reference.score(query, key, weight, features=None, feature_weight=None)
    level = harmonic_reference.score(query, key, weight, replace(fit, slope=0.0))
    missing = fit.slope * sums_of_pairs(query, key, weight)
    assert_close(level + missing, harmonic_reference.score(query, key, weight, fit), tolerance=1e-12)
    assert error(level, exact) > 100 * error(level + missing, exact)


def sums_of_pairs(query: Tensor, key: Tensor, weight: Tensor) -> Tensor:
    """Σ_a v_a (q_a + k_a), [B, H, T, S], pair by pair."""
    return ((query.unsqueeze(3) + key.unsqueeze(2)) * weight[:, None, None]).sum(-1)


def test_the_span_is_that_of_the_sums() -> None:
    query, key, _, _ = build(2, 3, 5, 7, 4, 1)
    query, key = query + 9.0, key - 8.5
    pairs = query.unsqueeze(3) + key.unsqueeze(2)
    reach, size = harmonic_reference.span(query, key)
    assert reach == pytest.approx(magnitude(pairs), rel=1e-6)
    assert size == pytest.approx(max(magnitude(query), magnitude(key)), rel=1e-6)
    assert harmonic_reference.span(query[:, :, :0], key) == (0.0, 0.0)


def test_what_it_cannot_is_said_before_anything_runs() -> None:
    query, key, value, weight = (tensor.half() for tensor in build(1, 1, 3, 5, 4, 2))
    with pytest.raises(ValueError, match=r'tolerance and span are for impl="harmonic"; got impl=None'):
        additive_attention(query, key, value, weight, tolerance=1e-3)
    with pytest.raises(ValueError, match="impl='harmonic' has no dropout"):
        additive_attention(query, key, value, weight, impl="harmonic", dropout=0.5)
    features = torch.zeros(1, 1, 3, 5, 2, dtype=torch.float16)
    with pytest.raises(ValueError, match="impl='harmonic' has no features"):
        additive_attention(
            query, key, value, weight, features=features, feature_weight=features[0, 0, :1, :4], impl="harmonic"
        )


@pytest.mark.usefixtures("kernels")
class TestKernels:
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
    @pytest.mark.parametrize("tolerance", [1e-2, 1e-3])
    def test_both_dtypes(self, dtype: torch.dtype, tolerance: float) -> None:
        compare(build(*sizes(1, 2, 19, 37, 7, 5), dtype=dtype), Mask.causal(), dtype=dtype, tolerance=tolerance)  # type: ignore[misc]

    @pytest.mark.parametrize(
        "name", ["padding", "causal", "window", "narrow and padded", "dense", "dense and causal", "keys", "nothing"]
    )
    def test_every_mask(self, name: str) -> None:
        batch, heads, queries, keys, width, value = sizes(2, 2, 18, 37, 3, 2)
        some = torch.rand(batch, heads, queries, keys) < 0.3
        some[0, 0, 3] = False
        lengths = [keys - 5, 0]
        mask = {
            "padding": Mask.padding(lengths),
            "causal": Mask.causal(),
            "window": Mask.window(5, ahead=2),
            "narrow and padded": Mask.window(1) & Mask.padding(lengths),
            "dense": Mask.of(some),
            "dense and causal": Mask.of(some[:, :1]) & Mask.causal() & Mask.padding([keys, 3]),
            "keys": Mask.keys(some[:, 0, 0]),
            "nothing": Mask.of(torch.zeros(keys, dtype=torch.bool)),
        }[name]
        compare(build(batch, heads, queries, keys, width, value), mask)

    @pytest.mark.parametrize(
        "shape",
        [(1, 1, 1, 1, 1, 1), (2, 1, 1, 33, 5, 17), (1, 3, 33, 1, 2, 3), (1, 1, 16, 16, 64, 16), (1, 2, 5, 19, 150, 3)],
    )
    def test_odd_sizes(self, shape: tuple[int, ...]) -> None:
        compare(build(*shape), None)  # type: ignore[arg-type]

    def test_one_sine(self) -> None:
        query, key, value, weight = build(1, 2, 17, 19, 5, 3)
        inputs = [(0.1 * query).half().double(), (0.1 * key).half().double(), value, weight]
        fit = harmonic_fit.choose(harmonic_reference.span(*inputs[:2])[0], 1e-3)
        assert fit is not None
        assert fit.terms == 1
        compare(inputs, None)

    def test_values_wider_than_a_block(self) -> None:
        compare(build(1, 1, 3, 37, 2, 140), None)

    @pytest.mark.parametrize("processors", [1, 6, 100])
    def test_pieces_of_the_keys_are_put_together(self, processors: int) -> None:
        tile = replace(choose_tile(99, 999, dense=False, interpreted=interpreted()), processors=processors)
        inputs = build(*sizes(1, 2, 17, 83, 3, 2))
        assert (
            tile.pieces(4, inputs[1].shape[2], inputs[0].device)
            == {1: 1, 6: 1, 100: 6 if interpreted() else 4}[processors]
        )
        compare(inputs, Mask.causal(), tile=tile)

    def test_one_pipeline_over_all_tiles_reads_the_same(self) -> None:
        inputs = build(*sizes(1, 1, 17, 37, 3, 2))
        compare(inputs, None, tile=replace(choose_tile(99, 999, dense=False, interpreted=interpreted()), flatten=True))

    @pytest.mark.parametrize("features", [FeatureTile(512, 16, 1), FeatureTile(1024, 64, 2)], ids=str)
    def test_features_may_be_made_by_other_tiles(self, features: FeatureTile) -> None:
        tile = replace(choose_tile(99, 999, dense=False, interpreted=interpreted()), features=features)
        compare(build(1, 2, 17, 37, 64, 2), None, tile=tile)

    @pytest.mark.parametrize("processors", [1, 100])
    def test_the_log_sum_exp_is_that_of_the_fit(self, processors: int) -> None:
        """The backward pass takes it, so the queries' shifts belong to it; it is off by roundings alone."""
        inputs = build(*sizes(1, 2, 17, 83, 3, 2))
        inputs[0] = (inputs[0] + 2).half().double()
        query, key, _, weight = inputs
        fit = harmonic_fit.choose(harmonic_reference.span(query, key)[0], 1e-2)
        assert fit is not None
        tile = replace(choose_tile(99, 999, dense=False, interpreted=interpreted()), processors=processors)
        _, lse = attend(inputs, None, fit, torch.float16, tile)
        expected = harmonic_reference.score(query, key, weight, fit).logsumexp(-1)
        assert error(lse, expected) <= rounding_bound(inputs, fit)

    def test_the_line_reaches_context_and_log_sum_exp(self) -> None:
        """Keys that differ by what is the same in all units: without the slope nothing is within the bound."""
        query, key, value, weight = build(1, 1, 17, 37, 6, 2)
        key = (0.1 * key + torch.linspace(-2, 2, key.shape[2], dtype=torch.float64)[:, None]).half().double()
        inputs = [query, key, value, weight.abs()]
        compare(inputs, None)
        fit = harmonic_fit.choose(harmonic_reference.span(query, key)[0], 1e-3)
        assert fit is not None
        context, lse = attend(inputs, None, replace(fit, slope=0.0), torch.float16)
        true_context, true_lse = truth_of(inputs, None)
        bound = energy_bound(inputs, fit)
        assert error(lse, true_lse) > 10 * bound
        assert error(context, true_context) > 10 * bound

    def test_nothing_is_read_that_was_not_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from regard.ops.additive.harmonic_call import HarmonicCall

        plain, made = HarmonicCall._new, []

        def poisoned(self: HarmonicCall, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            made.append(shape)
            return plain(self, *shape, dtype=dtype).fill_(torch.nan if dtype.is_floating_point else 7)

        monkeypatch.setattr(HarmonicCall, "_new", poisoned)
        compare(build(*sizes(2, 1, 19, 37, 6, 3)), Mask.window(3) & Mask.padding([37, 9]))
        assert len(made) == 8

    @pytest.mark.parametrize("scale", [1e-4, 300.0])
    def test_small_and_large_weights(self, scale: float) -> None:
        """float16 has too few numbers for v c itself: the bound holds for any v, and for none of it."""
        query, key, value, weight = build(1, 2, 17, 19, 5, 3)
        weight = (scale * weight).bfloat16().double()
        weight[1] = 0.0
        fit = harmonic_fit.choose(harmonic_reference.span(query, key)[0], 1e-3)
        assert fit is not None
        inputs = [tensor.bfloat16().double() for tensor in (query, key, value, weight)]
        _, lse = attend(inputs, None, fit, torch.bfloat16)
        assert error(lse, truth_of(inputs, None)[1]) <= energy_bound(inputs, fit)

    def test_far_from_zero_but_near_each_other(self) -> None:
        """|q| and |k| of 60, whose sums are small: angles are long, and still right."""
        query, key, value, weight = build(1, 1, 17, 19, 5, 3)
        compare([(query + 55).half().double(), (key - 55).half().double(), value, weight], None)

    def test_strided_inputs(self) -> None:
        query, key, value, weight = build(1, 2, 17, 19, 6, 4)
        flipped = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (query, key)]
        wide = torch.cat((value, value), dim=3)[..., ::2]
        compare([*flipped, wide, weight.T.contiguous().T], None)

    def test_a_row_with_nothing_to_attend_to_is_zero(self) -> None:
        inputs = [tensor.half().requires_grad_() for tensor in build(2, 1, 17, 18, 3, 2)]
        out = additive_attention(*inputs, Mask.padding([0, 18]), impl="harmonic")
        grads = torch.autograd.grad(out.context.sum(), inputs[:3])
        assert (out.context[0] == 0).all()
        assert (out.context[1] != 0).all()
        assert all((grad[0] == 0).all() for grad in grads)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
    def test_the_gate(self, dtype: torch.dtype) -> None:
        assert_gate_is_green(build(*sizes(1, 2, 19, 67, 12, 5), dtype=dtype), dtype)  # type: ignore[misc]

    def test_weights_on_demand_are_exact_but_for_their_sum(self) -> None:
        inputs = [tensor.half() for tensor in build(1, 2, 17, 19, 5, 3)]
        weights = additive_attention(*inputs, impl="harmonic", tolerance=1e-3).weights()
        exact = additive_attention(*(tensor.double() for tensor in inputs), impl="reference").weights()
        ratio = weights.double() / exact
        assert_close(ratio, ratio[..., :1].expand_as(ratio), tolerance=1e-4)
        assert error(ratio, torch.ones_like(ratio)) < 1e-2

    def test_a_broken_promise_is_nan_and_a_kept_one_is_not(self) -> None:
        query, key, value, weight = (tensor.half() for tensor in build(1, 2, 17, 19, 5, 3))
        query[0, 1, 4, 2], key[0, 1, 9, 2] = 6.0, 5.0
        out = additive_attention(query, key, value, weight, impl="harmonic", span=10.0).context
        assert torch.isfinite(out[:, 0]).all()
        assert out[:, 1].isnan().all()
        kept = additive_attention(query, key, value, weight, impl="harmonic", span=12.0).context
        assert torch.isfinite(kept).all()

    def test_a_promise_that_no_fit_can_use_is_refused(self) -> None:
        inputs = [tensor.half() for tensor in build(1, 1, 3, 5, 4, 2)]
        with pytest.raises(ValueError, match=r"error of 1\.0e-03 up to a span of 31\.0, only up to 20"):
            additive_attention(*inputs, impl="harmonic", span=31.0, tolerance=1e-3)

    @pytest.mark.parametrize("shift", [0.0, 100.0])
    def test_where_no_fit_reaches_the_exact_kernels_read_and_say_so(self, shift: float) -> None:
        query, key, value, weight = (tensor.half() for tensor in build(1, 1, 17, 19, 5, 3))
        query, key = (query + shift, key - shift) if shift else (20 * query, 20 * key)
        with pytest.warns(UserWarning, match="the exact kernels read instead"):
            out = additive_attention(query, key, value, weight, impl="harmonic")
        assert torch.equal(out.context, additive_attention(query, key, value, weight, impl="fused").context)

    def test_empty_sizes(self) -> None:
        for shape in ((0, 1, 2, 3, 4, 5), (2, 1, 0, 3, 4, 5), (2, 1, 3, 0, 4, 5)):
            actual = [tensor.half().requires_grad_() for tensor in build(*shape)]
            out = additive_attention(*actual, impl="harmonic")
            assert out.context.shape == (*shape[:3], 5)
            assert (out.context == 0).all()
            assert all((grad == 0).all() for grad in torch.autograd.grad(out.context.sum(), actual))

    def test_it_is_for_half_precision(self) -> None:
        inputs = [tensor.float() for tensor in build(1, 1, 3, 5, 4, 2)]
        with pytest.raises(ValueError, match=r"float16 and bfloat16, not torch\.float32"):
            additive_attention(*inputs, impl="harmonic")

    def test_it_has_one_derivative(self) -> None:
        query, key, value, weight = (tensor.half().requires_grad_() for tensor in build(1, 1, 3, 5, 4, 2))
        context = additive_attention(query, key, value, weight, impl="harmonic").context
        with pytest.raises(RuntimeError, match="harmonic implementation has no second derivative"):
            torch.autograd.grad(context.sum(), query, create_graph=True)


def assert_gate_is_green(inputs: Inputs, dtype: torch.dtype) -> None:
    """Twice the error of the equation computed in this precision, and a rounding; gradients as in `fused`."""
    truth, plain, mine = (
        outcome(impl, inputs, wanted)
        for impl, wanted in (("reference", torch.float64), ("equation", dtype), ("harmonic", dtype))
    )
    scale = max(magnitude(grad) for grad in truth[1:])
    for index, (true, theirs, ours) in enumerate(zip(truth, plain, mine, strict=True)):
        largest = scale if index else magnitude(true)
        assert error(ours, true) <= 2 * error(theirs, true) + torch.finfo(dtype).eps * largest


def outcome(impl: str, inputs: Inputs, dtype: torch.dtype) -> list[Tensor]:
    """Context, and the gradients of a sum over it that treats no two entries alike."""
    query, key, value, weight = ready = [tensor.to(dtype).requires_grad_() for tensor in inputs]
    if impl == "equation":
        energy = (torch.tanh(query.unsqueeze(3) + key.unsqueeze(2)) * weight[:, None, None]).sum(-1)
        context = energy.softmax(-1) @ value
    elif impl == "reference":
        context = additive_attention(query, key, value, weight, impl=impl).context
    else:
        context = harmonic.attention(query, key, value, weight, None).context
    probe = torch.linspace(-1, 1, context.numel()).view_as(context).bfloat16().to(context.dtype)
    return [context, *torch.autograd.grad(context, ready, probe)]
