"""The fused kernels of additive attention: on a GPU, or in Triton's interpreter on any machine.

TRITON_INTERPRET=1 pytest -n0 tests/ops/test_additive_fused.py
pytest -n0 --device cuda tests/ops/test_additive_fused.py
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.ops import additive_attention
from regard.ops.additive import blocked, fused, launch, reference
from tests.mechanism import assert_close, assert_within_budget, error, magnitude

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
GROUPS = (0, 2, 4)
Inputs = list[Tensor]


def interpreted() -> bool:
    if importlib.util.find_spec("triton") is None:
        return False
    import triton

    return bool(triton.knobs.runtime.interpret)


@pytest.fixture(autouse=True)
def _runs(_on_device: None) -> Iterator[None]:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("Triton is not installed")
    if not interpreted() and torch.get_default_device().type != "cuda":
        pytest.skip("the kernels need a GPU (--device cuda) or Triton's interpreter (TRITON_INTERPRET=1)")
    yield
    torch.use_deterministic_algorithms(False)


def sizes(*small: int) -> tuple[int, ...]:
    """Sizes for the interpreter; queries and keys are 11 times as many on a GPU, for tiles that are larger as well."""
    batch, heads, queries, keys, width, value = small
    many = 1 if interpreted() else 11
    return batch, heads, many * queries, many * keys, width if many == 1 else 4 * width + 1, value


def build(batch: int, heads: int, queries: int, keys: int, width: int, value: int, *, features: int = 0) -> Inputs:
    """query, key, value, weight and perhaps features and their weight, in float64."""
    shapes = [(batch, heads, queries, width), (batch, heads, keys, width), (batch, heads, keys, value), (heads, width)]
    if features:
        shapes += [(batch, 1, queries, keys, features), (heads, width, features)]
    return [torch.randn(shape, dtype=torch.float64, device="cpu").to(torch.get_default_device()) for shape in shapes]


def outcome(impl: str, inputs: Inputs, mask: Mask | None, dtype: torch.dtype, **options: object) -> list[Tensor]:
    """Context, some weights, and all gradients of a sum over both that treats no two entries alike."""
    ready = [tensor.detach().to(dtype).requires_grad_() for tensor in inputs]
    features, feature_weight = ready[4:] or (None, None)
    if impl == "reference":
        options["dropout"] = 0.0
    read = {"reference": reference, "blocked": blocked, "fused": fused}[impl].attention
    out = read(*ready[:4], mask, features=features, feature_weight=feature_weight, **options)  # type: ignore[operator]
    weights = out.weights(rows=[0, -1])
    loss = sum((part.double() * probe(part)).sum() for part in (out.context, weights))
    return [out.context, weights, *torch.autograd.grad(loss, ready)]  # type: ignore[arg-type]


def probe(tensor: Tensor) -> Tensor:
    """Coefficients of a sum, which are gradients that half precision can represent too."""
    return torch.linspace(-1, 1, tensor.numel()).view_as(tensor).bfloat16().double()


def compare(inputs: Inputs, mask: Mask | None, dtype: torch.dtype = torch.float32, **options: object) -> None:
    """Hold the kernels to twice the error of PyTorch, for gradients at the same precision, for the rest in float32.

    The plain way or the blocked one, whichever errs more: a gradient from a kept context, as it is in tiles, is not
    that of a softmax whose rows are all there.
    """
    inputs = [tensor.to(dtype).double() for tensor in inputs]
    truth = outcome("reference", inputs, mask, torch.float64)
    exact = [outcome(impl, inputs, mask, torch.float32)[:2] for impl in ("reference", "blocked")]
    same = [outcome(impl, inputs, mask, dtype)[2:] for impl in ("reference", "blocked")]
    actual = outcome("fused", inputs, mask, dtype, **options)
    scale = max(magnitude(grad) for grad in truth[2:])
    for index, (mine, true) in enumerate(zip(actual, truth, strict=True)):
        theirs = [
            outcomes[index] if index < 2 else grads[index - 2] for outcomes, grads in zip(exact, same, strict=True)
        ]
        worse = theirs[0] if error(theirs[0], true) > error(theirs[1], true) else theirs[1]
        assert_within_budget(mine, worse, true, scale=scale if index > 1 else None)


def tiled(group: int) -> launch.Launch:
    """The rule's tiles, with another way to a tanh."""
    return replace(launch.choose(32, 999, torch.float32, features=False, interpreted=interpreted()), group=group)


@pytest.mark.parametrize("width", [5, 67])
def test_the_tiles_of_short_memories(width: int) -> None:
    chosen = launch.choose(width, 37, torch.bfloat16, features=False, interpreted=False)
    assert chosen.forward.columns == 32
    compare(build(1, 2, 17, 37, width, 5), Mask.padding([33]), torch.bfloat16, launch=chosen)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_three_dtypes(dtype: torch.dtype) -> None:
    compare(build(*sizes(1, 2, 19, 23, 7, 5)), Mask.causal(), dtype)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("fixed", [False, True], ids=["any order", "fixed order"])
def test_every_way_to_a_tanh(group: int, fixed: bool) -> None:
    torch.use_deterministic_algorithms(fixed)  # which also fills all memory that nobody has written with NaN
    dtype = torch.float16 if group else torch.float32
    compare(build(*sizes(1, 1, 17, 29, 6, 3)), None, dtype, launch=tiled(group))


def test_energies_by_the_product_and_slopes_by_the_tanh() -> None:
    inputs = build(*sizes(1, 1, 17, 29, 6, 3))
    compare(inputs, Mask.causal(), torch.bfloat16, launch=replace(tiled(2), direct=True))


@pytest.mark.parametrize("group", [2, 4])
@pytest.mark.parametrize("reach", [0.1, 1.0, 4.0])
def test_the_product_is_nearly_as_exact_as_the_tanh(group: int, reach: float) -> None:
    """In float32, where it is not chosen: outcomes within 4 times the error of plain PyTorch and a few roundings."""
    query, key, value, weight = build(1, 1, 17, 19, 7, 3)
    inputs = [tensor.float().double() for tensor in (reach * query, reach * key, value, weight)]
    truth, plain = (outcome("reference", inputs, None, dtype) for dtype in (torch.float64, torch.float32))
    actual = outcome("fused", inputs, None, torch.float32, launch=tiled(group))
    for mine, theirs, true in zip(actual, plain, truth, strict=True):
        allowed = 4 * error(theirs, true) + 8 * torch.finfo(torch.float32).eps * magnitude(true)
        assert error(mine, true) <= allowed, f"{error(mine, true):.1e} exceeds {allowed:.1e}"


def masks(batch: int, heads: int, queries: int, keys: int) -> dict[str, Mask]:
    some = torch.rand(batch, heads, queries, keys) < 0.3
    some[0, 0, 3] = False
    lengths = [keys - 5, 0]
    return {
        "padding": Mask.padding(lengths),
        "causal": Mask.causal(),
        "window": Mask.window(5, ahead=2),
        "narrow and padded": Mask.window(1) & Mask.padding(lengths),
        "dense": Mask.of(some),
        "dense and causal": Mask.of(some[:, :1]) & Mask.causal() & Mask.padding([keys, 3]),
        "either": Mask.causal() | Mask.padding(lengths),
        "not": ~Mask.window(7, ahead=3),
        "keys": Mask.keys(some[:, 0, 0]),
        "two windows": Mask.window(9, ahead=4) & Mask.causal(),
        "nothing": Mask.of(torch.zeros(keys, dtype=torch.bool)),
    }


@pytest.mark.parametrize("name", masks(1, 1, 4, 6))
@pytest.mark.parametrize("fixed", [False, True], ids=["any order", "fixed order"])
def test_every_mask(name: str, fixed: bool) -> None:
    torch.use_deterministic_algorithms(fixed)
    batch, heads, queries, keys, width, value = sizes(2, 2, 18, 21, 3, 2)
    dtype = torch.float32 if fixed else torch.float16
    compare(build(batch, heads, queries, keys, width, value), masks(batch, heads, queries, keys)[name], dtype)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1, 1, 1), (2, 1, 1, 33, 5, 17), (1, 3, 33, 1, 2, 3), (1, 1, 16, 16, 16, 16)]
)
def test_odd_sizes(shape: tuple[int, ...]) -> None:
    compare(build(*shape), Mask.causal())  # type: ignore[arg-type]


def test_values_wider_than_a_block() -> None:
    compare(build(1, 1, 3, 5, 2, 700), None)


@pytest.mark.parametrize("fixed", [False, True], ids=["any order", "fixed order"])
def test_features(fixed: bool) -> None:
    torch.use_deterministic_algorithms(fixed)
    compare(build(*sizes(1, 2, 17, 19, 3, 2), features=3), Mask.causal())


def test_features_in_half_precision_of_each_head() -> None:
    inputs = build(1, 2, 17, 19, 3, 2, features=5)
    inputs[4] = torch.randn(1, 2, 17, 19, 5, dtype=torch.float64)
    compare(inputs, Mask.padding([11]), torch.bfloat16)


def test_a_row_with_nothing_to_attend_to_is_zero() -> None:
    inputs = build(2, 1, 17, 18, 3, 2)
    actual = outcome("fused", inputs, Mask.padding([0, 18]), torch.float32)
    assert all((part[0] == 0).all() for part in actual[:5])
    assert (actual[0][1] != 0).all()


def test_nothing_is_read_that_was_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.ops.additive.kernel_call import KernelCall

    plain, made = KernelCall._new, []

    def poisoned(self: KernelCall, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        made.append(shape)
        return plain(self, *shape, dtype=dtype).fill_(torch.nan)

    monkeypatch.setattr(KernelCall, "_new", poisoned)
    compare(build(*sizes(2, 1, 19, 37, 6, 3)), Mask.window(3) & Mask.padding([37, 9]))
    assert len(made) > 10


def test_slabs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scratch memory for one block of rows at a time, in both orders."""
    from regard.ops.additive import kernel_call

    monkeypatch.setattr(kernel_call, "SCRATCH", 1)
    inputs = build(*sizes(2, 1, 35, 19, 3, 2))
    compare(inputs, Mask.causal())
    torch.use_deterministic_algorithms(True)
    compare(inputs, Mask.causal())


def test_the_fixed_order_gives_the_same_bits() -> None:
    torch.use_deterministic_algorithms(True)
    inputs = build(*sizes(1, 2, 19, 23, 5, 3))
    once, twice = (outcome("fused", inputs, None, torch.float32) for _ in range(2))
    assert all(torch.equal(one, two) for one, two in zip(once, twice, strict=True))


def test_strided_inputs() -> None:
    query, key, value, weight = build(1, 2, 17, 19, 6, 4)
    flipped = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (query, key)]
    wide = torch.cat((value, value), dim=3)[..., ::2]
    compare([*flipped, wide, weight.T.contiguous().T], None)


@pytest.mark.parametrize("reach", [1.0, 4.0, 12.0, 50.0, 1e4])
@pytest.mark.parametrize("group", [2, 4])
def test_saturated_and_beyond(reach: float, group: int) -> None:
    """Exponentials that overflow are not used; those that nearly do are. Sums near zero of large numbers included."""
    query, key, value, weight = build(1, 2, 17, 18, 5, 3)
    query, key = reach * query, reach * key
    query[0, 0, 3], key[0, 0, 4] = reach, -reach
    compare([query, key, value, weight], None, torch.float16, launch=tiled(group))


def test_at_the_limit_of_the_product() -> None:
    for group in (2, 4):
        chosen = tiled(group)
        query, key, value, weight = build(1, 1, 3, 5, 8, 2)
        half = chosen.limit / 2 - 0.01
        signs = [torch.where(tensor > 0, half, -half) for tensor in (query, key)]
        compare([*signs, value, weight], None, torch.float16, launch=chosen)


def test_an_infinite_query_saturates() -> None:
    query, key, value, weight = (tensor.float() for tensor in build(1, 1, 3, 5, 4, 2))
    query[0, 0, 1, 2] = torch.inf
    query[0, 0, 2, 0] = -torch.inf
    actual = fused.attention(query, key, value, weight, None, features=None, feature_weight=None)
    expected = reference.attention(
        query.double(), key.double(), value.double(), weight.double(), None,
        features=None, feature_weight=None, dropout=0.0,
    )  # fmt: skip
    assert_close(actual.context, expected.context, tolerance=1e-5)


def test_empty_sizes() -> None:
    for shape in ((0, 1, 2, 3, 4, 5), (2, 1, 0, 3, 4, 5), (2, 1, 3, 0, 4, 5)):
        actual = [tensor.float().requires_grad_() for tensor in build(*shape)]
        out = additive_attention(*actual, impl="fused")
        assert out.context.shape == (*shape[:3], 5)
        assert (out.context == 0).all()
        assert all((grad == 0).all() for grad in torch.autograd.grad(out.context.sum(), actual))


def test_it_is_asked_for_by_name_and_says_what_it_cannot() -> None:
    query, key, value, weight = (tensor.float() for tensor in build(1, 1, 3, 5, 4, 2))
    named = additive_attention(query, key, value, weight, impl="fused")
    assert_close(named.context, additive_attention(query, key, value, weight).context.double(), tolerance=1e-5)
    with pytest.raises(ValueError, match="'fused' has no dropout"):
        additive_attention(query, key, value, weight, impl="fused", dropout=0.5)
    with pytest.raises(ValueError, match=r"float32, float16 and bfloat16, not torch\.float64"):
        additive_attention(query.double(), key.double(), value.double(), weight.double(), impl="fused")


def test_it_has_one_derivative() -> None:
    query, key, value, weight = (tensor.float().requires_grad_() for tensor in build(1, 1, 3, 5, 4, 2))
    context = additive_attention(query, key, value, weight, impl="fused").context
    with pytest.raises(RuntimeError, match="fused implementation has no second derivative"):
        torch.autograd.grad(context.sum(), query, create_graph=True)
