"""One promise for all mechanisms: finite, equal to the float64 oracle, unchanged by padding, zero where nothing is.

Mechanism x implementation x random masks (fully masked rows included) x dtype.
"""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from regard import Mask, ops
from regard.ops import Attended
from regard.ops.softmax import statistics_dtype
from tests.cases import CASES
from tests.cases.case import Case, Inputs, Sizes
from tests.mechanism import assert_close, assert_within_budget, error, magnitude, rounded_once

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
RUNS = [(case, impl) for case in CASES for impl in case.implementations]
SEEDS = range(6)


def random_sizes(case: Case, rng: random.Random) -> Sizes:
    heads = rng.choice((1, 2, 3)) if case.heads else 1
    return Sizes(rng.choice((1, 2, 3)), heads, rng.choice((1, 5, 7)), rng.choice((1, 6, 11)), 5, 3)


def random_mask(sizes: Sizes, rng: random.Random) -> Mask | None:
    """One of the shapes that masks come in; several leave a row, or a whole sequence, with nothing to attend to."""
    lengths = [rng.randint(0, sizes.keys) for _ in range(sizes.batch)]
    padding = Mask.padding(torch.tensor(lengths))
    dense = Mask.of(torch.rand(sizes.batch, 1, sizes.queries, sizes.keys) < 0.6)
    return rng.choice(
        (
            None,
            padding,
            Mask.padding(torch.zeros(sizes.batch, dtype=torch.long)),
            padding & Mask.causal(),
            Mask.window(3) & padding,
            dense,
            dense & Mask.causal(),
            ~dense | padding,
            Mask.window(3, ahead=1) | Mask.window(1),
        )
    )


def run(case: Case, inputs: Inputs, mask: Mask | None, impl: str, dtype: torch.dtype) -> tuple[Attended, list[Tensor]]:
    """The outcome in `dtype`, and the gradients of a fixed sum over its context and its weights."""
    ready = {name: tensor.detach().to(dtype).requires_grad_() for name, tensor in inputs.items()}
    attended = case.read(ready, mask, impl)
    loss = (attended.context.double() * probe(attended.context)).sum()
    loss = loss + (attended.weights().double() * probe(attended.weights())).sum()
    grads = torch.autograd.grad(loss, list(ready.values()), allow_unused=True, materialize_grads=True)
    return attended, list(grads)


def probe(tensor: Tensor) -> Tensor:
    """Coefficients of a sum that no two entries share."""
    return torch.linspace(-1, 1, tensor.numel(), dtype=torch.float64).view_as(tensor)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize(("case", "impl"), RUNS, ids=lambda part: str(part))
def test_equals_the_float64_oracle(case: Case, impl: str, dtype: torch.dtype) -> None:
    for seed in SEEDS:
        rng = random.Random(f"{case}-{seed}")
        torch.manual_seed(seed)
        sizes = random_sizes(case, rng)
        inputs, mask = case.build(sizes), random_mask(sizes, rng)
        inputs = {name: tensor.to(dtype).double() for name, tensor in inputs.items()}  # what both sides can represent
        truth, true_grads = run(case, inputs, mask, "reference", torch.float64)
        # Half precision has the inputs and one rounding of the outcome; what lies between is float32.
        plain, plain_grads = run(case, inputs, mask, "reference", statistics_dtype(dtype))
        actual, grads = run(case, inputs, mask, impl, dtype)
        roundings = case.fused_roundings if impl == "sdpa" else 1
        assert_within_budget(actual.context, plain.context, truth.context, roundings=roundings)
        if actual.context.dtype != plain.context.dtype and impl != "sdpa":  # PyTorch's kernel rounds its weights too
            rounded_once(actual.context, plain.context, truth.context)
        assert_within_budget(actual.weights(), plain.weights(), truth.weights())
        scale = max(magnitude(grad) for grad in true_grads)
        for mine, theirs, true in zip(grads, plain_grads, true_grads, strict=True):
            assert_within_budget(mine, theirs, true, scale=scale, roundings=roundings)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=lambda dtype: str(dtype).removeprefix("torch."))
@pytest.mark.parametrize(("case", "impl"), RUNS, ids=lambda part: str(part))
def test_autocast_leaves_the_statistics_alone(case: Case, impl: str, dtype: torch.dtype) -> None:
    """It may round what goes into a fused kernel, but neither energies nor weights, whatever the inputs came as."""
    sizes = Sizes(2, 2 if case.heads else 1, 5, 6, 5, 3)
    inputs, mask = {name: tensor.to(dtype) for name, tensor in case.build(sizes).items()}, Mask.padding([6, 4])
    plain = case.read(inputs, mask, impl)
    with autocast():
        actual = case.read(inputs, mask, impl)
        weights = actual.weights()
    assert weights.dtype == torch.float32
    assert_close(weights, plain.weights().double())
    assert actual.context.dtype == plain.context.dtype
    if impl == "sdpa":
        assert error(actual.context, plain.context) <= 4 * torch.finfo(torch.bfloat16).eps * magnitude(plain.context)
    else:
        assert_close(actual.context, plain.context.double())


def test_autocast_leaves_attention_over_attention_alone() -> None:
    document, query = torch.randn(2, 7, 5), torch.randn(2, 3, 5)
    plain = ops.attention_over_attention(document, query, Mask.padding([7, 4]))
    with autocast():
        actual = ops.attention_over_attention(document, query, Mask.padding([7, 4]))
    assert_close(actual.weights.sum(-1), torch.ones(2))
    assert_close(actual.weights, plain.weights.double())
    assert_close(actual.attended.context, plain.attended.context.double())


def autocast() -> torch.autocast:
    return torch.autocast(torch.get_default_device().type, torch.bfloat16)


@pytest.mark.parametrize(("case", "impl"), RUNS, ids=lambda part: str(part))
def test_a_row_with_nothing_to_attend_to_is_zero(case: Case, impl: str) -> None:
    sizes = Sizes(2, 2 if case.heads else 1, 3, 5, 5, 3)
    nothing = Mask.of(torch.tensor([False, True])[:, None, None].expand(2, sizes.queries, sizes.keys).clone())
    attended, _ = run(case, case.build(sizes), nothing, impl, torch.float32)
    assert (attended.context[0] == 0).all()
    assert (attended.weights()[0] == 0).all()
    assert (attended.weights()[1].sum(-1) > 0).all()
    everything = Mask.of(torch.zeros(sizes.keys, dtype=torch.bool))
    _, grads = run(case, case.build(sizes), everything, impl, torch.float32)
    assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize(("case", "impl"), RUNS, ids=lambda part: str(part))
def test_padding_changes_nothing(case: Case, impl: str) -> None:
    sizes = Sizes(3, 2 if case.heads else 1, 3, 6, 5, 3)
    inputs = case.build(sizes)
    lengths = torch.tensor([6, 4, 0])
    before, _ = run(case, inputs, Mask.padding(lengths), impl, torch.float64)
    longer = {
        name: tensor if name not in case.key_axis else grown(tensor, case.key_axis[name], 4)
        for name, tensor in inputs.items()
    }
    after, _ = run(case, longer, Mask.padding(lengths), impl, torch.float64)
    torch.testing.assert_close(after.context, before.context, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(after.weights()[..., : sizes.keys], before.weights(), atol=1e-12, rtol=1e-12)
    assert (after.weights()[..., sizes.keys :] == 0).all()


def grown(tensor: Tensor, axis: int, by: int) -> Tensor:
    """The tensor with `by` entries of large rubbish behind it."""
    shape = list(tensor.shape)
    shape[axis] = by
    return torch.cat((tensor, 50.0 * torch.randn(shape, dtype=tensor.dtype)), dim=axis)


@pytest.mark.parametrize(("case", "impl"), RUNS, ids=lambda part: str(part))
def test_an_empty_memory_gives_a_zero_context(case: Case, impl: str) -> None:
    sizes = Sizes(2, 2 if case.heads else 1, 3, 0, 5, 3)
    attended, grads = run(case, case.build(sizes), None, impl, torch.float32)
    assert attended.weights().shape[-1] == 0
    assert (attended.context == 0).all()
    assert all((grad == 0).all() for grad in grads)
