"""Products in eight bits: near the plain ones, never out of date, refused where they do not exist."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.decode import Search, generate
from regard.models import Transformer
from regard.models.build import build
from regard.nn import pack, packed_copy
from regard.nn.cpu_decode.int8 import Int8Weight
from regard.nn.cpu_decode.packing import PackedLinear, Packing
from regard.nn.transformer_layer import LayerConfig
from tests.mechanism import assert_close


@pytest.fixture(autouse=True)
def _on_cpu(_on_device: None) -> None:
    torch.set_default_device("cpu")


def error(found: Tensor, right: Tensor) -> float:
    return float((found - right).norm() / right.norm())


def test_by_hand() -> None:
    # Rows of weights and the vector are whole numbers of steps of 1 / 127 and 1: nothing is rounded.
    weight = torch.tensor([[127.0, 0.0], [-127.0, 64.0]]) / 127
    x = torch.tensor([[0.0, 255.0], [0.0, 127.0]])
    found = Int8Weight.of(weight, torch.tensor([1.0, -1.0])).product(x, None)
    assert_close(found, torch.tensor([[1.0, 255 * 64 / 127 - 1], [1.0, 63.0]]), tolerance=2.1 if _reduced() else 1e-4)


def _reduced() -> bool:
    return not torch.cpu._is_vnni_supported()


@pytest.mark.parametrize("then", [None, F.relu, F.gelu, torch.tanh])
@pytest.mark.parametrize("bias", [True, False])
def test_products_are_near_the_plain_ones(bias: bool, then: object) -> None:
    x, weight = torch.randn(7, 257), torch.randn(131, 257)
    given = torch.randn(131) if bias else None
    with torch.inference_mode():
        right = Packing().linear(x, weight, given, then)  # type: ignore[arg-type]
        found = Packing(compute="int8").linear(x, weight, given, then)  # type: ignore[arg-type]
    assert 0 < error(found, right) < 0.03


def test_a_row_of_zeros_and_no_vectors() -> None:
    weight = torch.randn(131, 257)
    weight[5] = 0.0
    packing = Packing(compute="int8")
    with torch.inference_mode():
        assert packing.linear(torch.randn(3, 257), weight, None)[:, 5].tolist() == [0.0] * 3
        assert packing.linear(torch.randn(0, 257), weight, None).shape == (0, 131)


def test_eight_bits_follow_the_weights() -> None:
    linear, x = nn.Linear(256, 130), torch.randn(3, 256)
    fast = PackedLinear(linear, "int8")
    with torch.no_grad():
        before = fast(x)
        linear.weight.mul_(2.0)
        linear.bias.mul_(2.0)
        assert error(fast(x), 2 * before) < 1e-5
        assert error(copy.deepcopy(fast)(x), 2 * before) < 1e-5
    assert_close(fast(x), linear(x), tolerance=1e-5)  # with gradient in float32


@pytest.mark.parametrize("kind", ["transformer", "bahdanau", "luong"])
def test_a_search_in_eight_bits_is_near(kind: str) -> None:
    torch.manual_seed(3)
    arguments = {"dim": 192, "num_heads": 4, "num_layers": 1} if kind == "transformer" else {}
    model = build(kind, 211, 223, **arguments).eval()
    source, search = torch.randint(4, 211, (3, 7)), Search(strategy="greedy", max_length=5)
    with torch.inference_mode():
        right, found = (
            generate(one, source, search=search) for one in (packed_copy(model), packed_copy(model, "int8"))
        )
    for one, other in zip(right, found, strict=True):
        assert one[0].log_probs[0] != other[0].log_probs[0]
        assert one[0].log_probs[0] == pytest.approx(other[0].log_probs[0], abs=0.05)


def test_what_cannot_be_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Transformer(11, 13, LayerConfig(dim=6, num_heads=2), num_layers=1)
    with pytest.raises(ValueError, match="compute is float32 or int8; got 'int4'"):
        pack(model, "int4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="compute='int8' is for a CPU; set device to 'cpu'"):
        pack(model.to("meta"), "int8")
    monkeypatch.setattr("regard.nn.cpu_decode.int8._OPERATIONS", ("no_such_operation",))
    with pytest.raises(ValueError, match="has no products in eight bits; leave compute='int8' out"):
        pack(nn.Linear(1, 1), "int8")
