"""Packed maps: the same function, the same parameters, and never out of date."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

from regard.nn import Cells, MultiHead, Recurrent, ScaledDot, pack, packed_copy
from regard.nn.cpu_decode import packing as layouts
from regard.nn.cpu_decode.pack import PackedLinear
from regard.nn.cpu_decode.packing import Activation, Packing
from tests.mechanism import assert_close


def packed(bias: bool = True) -> tuple[nn.Linear, PackedLinear]:
    """A map, and the same packed."""
    linear = nn.Linear(256, 130, bias=bias, device="cpu")
    return linear, PackedLinear(linear)


def vectors(*shape: int) -> Tensor:
    return torch.randn(*shape, 256, device="cpu")


def blocks(linear: PackedLinear) -> Tensor | None:
    return linear._packing._blocks


def halves(linear: PackedLinear) -> Tensor | None:
    return linear._packing._halves


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1,), (5,), (3, 0), (2, 7), (160, 1)])
def test_a_packed_map_is_the_map(shape: tuple[int, ...], bias: bool) -> None:
    plain, fast = packed(bias)
    x = vectors(*shape)
    with torch.inference_mode():
        assert_close(fast(x), plain(x), tolerance=1e-5)
        assert_close(fast(x.flip(-1)[..., ::1]), plain(x.flip(-1)), tolerance=1e-5)
    laid_out = halves(fast) if shape == (1,) else blocks(fast)
    assert (laid_out is not None) == torch.backends.mkldnn.is_available()


def test_blocks_follow_the_weights() -> None:
    plain, fast = packed()
    x = vectors(3)
    with torch.no_grad():
        fast(x)
        plain.weight.mul_(2.0)
        assert_close(fast(x), plain(x), tolerance=1e-5)
        plain.load_state_dict({"weight": torch.ones(130, 256), "bias": torch.zeros(130)})
        assert_close(fast(x), plain(x), tolerance=1e-4)
        plain.weight.data = torch.randn(130, 256, device="cpu")
        assert_close(fast(x), plain(x), tolerance=1e-4)


def test_gradients_flow_past_the_blocks() -> None:
    plain, fast = packed()
    fast(vectors(3)).sum().backward()
    assert plain.weight.grad is not None, "parameters are shared"
    assert blocks(fast) is None, "nothing was packed to be trained"


def test_other_types_are_left_alone() -> None:
    _, fast = packed()
    with torch.inference_mode():
        assert fast.double()(vectors(3).double()).dtype == torch.float64
    assert blocks(fast) is None


def test_copies_and_pickles_are_packed_anew() -> None:
    plain, fast = packed()
    x = vectors(3)
    with torch.inference_mode():
        fast(x)
        for other in (copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))):
            assert blocks(other) is None
            assert_close(other(x), plain(x), tolerance=1e-5)


def test_only_large_maps_are_packed() -> None:
    model = pack(nn.ModuleDict({"large": nn.Linear(256, 256), "small": nn.Linear(8, 8)}).to("cpu"))
    assert isinstance(model["large"], PackedLinear)
    assert type(model["small"]) is nn.Linear
    assert list(model.state_dict()) == ["large.weight", "large.bias", "small.weight", "small.bias"]


@pytest.mark.parametrize("kind", ["elman", "gru", "lstm"])
def test_packed_steps_are_the_steps(kind: str) -> None:
    layers = Recurrent(256, 192, Cells(kind=kind, num_layers=2)).to("cpu").eval()
    x, state = vectors(5), layers.start(5, torch.randn(5, 2, 192, device="cpu"))
    with torch.inference_mode():
        plain, after = layers.step(x, state)
        layers.pack()
        fast, packed_after = layers.step(x, state)
        assert_close(fast, plain, tolerance=1e-5)
        assert_close(packed_after.hidden, after.hidden, tolerance=1e-5)
        if after.cell is not None and packed_after.cell is not None:
            assert_close(packed_after.cell, after.cell, tolerance=1e-5)


def test_a_matrix_in_inference_mode_is_packed_too() -> None:
    with torch.inference_mode():
        x, weight = vectors(3), torch.randn(130, 256, device="cpu")
        assert_close(Packing().linear(x, weight, None), x @ weight.T, tolerance=1e-4)


@pytest.mark.parametrize("rows", [1, 3])
def test_matrices_on_top_of_each_other(rows: int) -> None:
    x, weights, biases = (
        vectors(rows),
        [vectors(70), vectors(90)],
        [torch.randn(size, device="cpu") for size in (70, 90)],
    )
    packing = Packing()
    with torch.inference_mode():
        for _ in range(2):
            wanted = [nn.functional.linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True)]
            assert_close(packing.stacked(x, weights, biases), torch.cat(wanted, -1), tolerance=1e-4)
    with torch.no_grad():
        for part in (weights[1], biases[0]):
            part.mul_(2.0)
            wanted = [nn.functional.linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True)]
            assert_close(packing.stacked(x, weights, biases), torch.cat(wanted, -1), tolerance=1e-4)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [70, 3])  # in blocks or halves, and too small for them
def test_the_first_of_several_matrices_can_be_scaled(rows: int, size: int) -> None:
    x, weights = vectors(rows), [vectors(size), vectors(size)]
    biases = [torch.randn(size, device="cpu") for _ in weights]
    wanted = [nn.functional.linear(x, weight, bias) for weight, bias in zip(weights, biases, strict=True)]
    with torch.inference_mode():
        found = copy.deepcopy(Packing(0.3)).stacked(x, weights, biases)
        alone = pickle.loads(pickle.dumps(Packing(0.3))).stacked(x, weights[:1], biases[:1])
    assert_close(found, torch.cat((0.3 * wanted[0], wanted[1]), -1), tolerance=1e-4)
    assert_close(alone, 0.3 * wanted[0], tolerance=1e-4)


@pytest.mark.parametrize("then", [nn.functional.relu, nn.functional.gelu])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("size", [130, 3])
def test_what_follows_a_product(then: Activation, rows: int, size: int) -> None:
    x, weight, bias = vectors(rows), vectors(size), torch.randn(size, device="cpu")
    with torch.inference_mode():
        assert_close(
            Packing().linear(x, weight, bias, then), then(nn.functional.linear(x, weight, bias)), tolerance=1e-4
        )


@pytest.mark.parametrize("outputs", [129, 130, 512])
def test_one_vector(outputs: int) -> None:
    linear = nn.Linear(256, outputs, device="cpu")
    x = vectors(1)
    with torch.no_grad():
        fast = PackedLinear(linear)
        for factor in (1.0, 3.0):
            linear.weight.mul_(factor)
            assert_close(fast(x), linear(x), tolerance=1e-5)
            assert_close(fast(x[0]), linear(x[0]), tolerance=1e-5)


def test_without_the_operations_products_are_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "_OPERATIONS", ("_of_another_version",))
    plain, fast = packed()
    x = vectors(3)
    with torch.inference_mode():
        assert torch.equal(fast(x), plain(x))
    assert blocks(fast) is None


def test_a_packed_copy_has_the_parameters_and_the_watchers_of_the_model() -> None:
    model = MultiHead(ScaledDot(256, 256, 32, num_heads=8), value_dim=256, head_dim=32, output_dim=256).to("cpu")
    fast = packed_copy(model)
    assert type(model.output_map) is nn.Linear, "the model itself stays as it was"
    assert isinstance(fast.output_map, PackedLinear)
    for mine, theirs in zip(model.parameters(), fast.parameters(), strict=True):
        assert mine is theirs
    seen: list[object] = []
    with torch.inference_mode():
        handle = model.watch(seen.append)
        fast(vectors(2, 3))
        handle.remove()
        fast(vectors(2, 3))
    assert len(seen) == 1
