"""Captured weights: chosen by name, layer, head and row; nothing about the model changes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import regard
from regard import Mask
from regard.nn import Additive, Attention, MultiHead, ScaledDot
from tests.mechanism import assert_close


class Layer(nn.Module):
    """Self-attention, then a look at a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.own = MultiHead(ScaledDot(6, 6, 3, num_heads=2), value_dim=6, head_dim=3, output_dim=6)
        self.cross = Attention(Additive(6, 5, 7))
        self.back = nn.Linear(5, 6)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        x = x + self.own(x, mask=Mask.causal()).context
        hidden: Tensor = self.back(self.cross(x, memory).context)
        return x + hidden


class Model(nn.Module):
    def __init__(self, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(depth))

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, memory)
        return x


@pytest.fixture
def model() -> Model:
    return Model(3)


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(2, 4, 6), torch.randn(2, 7, 5)


def test_everything_by_default(model: Model, inputs: tuple[Tensor, Tensor]) -> None:
    with regard.capture(model) as seen:
        model(*inputs)
    assert list(seen) == [f"layers.{i}.{part}" for i in range(3) for part in ("own", "cross")]
    assert seen.weights("layers.1.own").shape == (2, 2, 4, 4)
    assert seen.weights("layers.1.cross").shape == (2, 4, 7)
    assert seen["layers.0.own"][0].entropy().shape == (2, 2, 4)


def test_the_choice_by_name_layer_head_and_row(model: Model, inputs: tuple[Tensor, Tensor]) -> None:
    with regard.capture(model) as whole, regard.capture(model, "*.own", layers=[0, -1], heads=1, rows=[3, 0]) as part:
        model(*inputs)
    assert list(part) == ["layers.0.own", "layers.2.own"]
    assert_close(part.weights("layers.2.own"), whole.weights("layers.2.own")[:, [1]][:, :, [3, 0]].double())


def test_the_model_computes_the_same_on_the_same_path(
    model: Model, inputs: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []
    fused = nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k)
    )
    plain = model(*inputs)
    on_the_fused_path = len(calls)
    with regard.capture(model):
        watched = model(*inputs)
    assert on_the_fused_path == 3
    assert len(calls) == 2 * on_the_fused_path
    assert torch.equal(plain, watched)


def test_nothing_stays_behind(model: Model, inputs: tuple[Tensor, Tensor]) -> None:
    with regard.capture(model) as seen:
        model(*inputs)
    model(*inputs)
    assert all(len(calls) == 1 for calls in seen.values())
    with pytest.raises(RuntimeError, match="stop"), regard.capture(model) as seen:
        raise RuntimeError("stop")
    model(*inputs)
    assert all(len(calls) == 0 for calls in seen.values())


def test_weights_are_detached_unless_asked(model: Model, inputs: tuple[Tensor, Tensor]) -> None:
    with regard.capture(model) as seen, regard.capture(model, grad=True) as live:
        model(*inputs)
    assert not seen.weights("layers.2.own").requires_grad
    live["layers.2.own"][0].entropy().sum().backward()
    gradient = model.layers[0].own.score.query_map.weight.grad  # type: ignore[union-attr]
    assert gradient.abs().sum() > 0


def test_steps_are_joined_over_a_growing_memory() -> None:
    attention = MultiHead(ScaledDot(6, 6, 3, num_heads=2), value_dim=6, head_dim=3)
    x = torch.randn(2, 5, 6)
    memory = attention.remember(x[:, :0])
    with regard.capture(attention) as seen:
        for t in range(5):
            memory = memory.append(attention.remember(x[:, t : t + 1]))
            attention.read(x[:, t : t + 1], memory)
    assert_close(seen.weights(""), attention(x, mask=Mask.causal()).weights().double())


def test_what_does_not_fit_is_named(model: Model, inputs: tuple[Tensor, Tensor]) -> None:
    with pytest.raises(ValueError, match=r"no attention fits names='decoder.\*'; there are: 'layers.0.own'"):
        regard.capture(model, "decoder.*").__enter__()
    linear = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="Linear has not attended: it holds no attention"), regard.capture(linear):
        linear(torch.zeros(1, 2))
    wrong_head = pytest.raises(
        ValueError, match="has 2 heads and was called with 4 queries: there are 2 to choose from, 0 to 1; asked for 2"
    )
    with wrong_head, regard.capture(model, "*.own", heads=2):
        model(*inputs)
    with regard.capture(model, "*.own") as seen, pytest.raises(KeyError, match="was not captured"):
        seen["layers.0.cross"]
    with regard.capture(model) as seen, pytest.raises(ValueError, match="has not been called"):
        seen.weights("layers.0.own")
    with regard.capture(model, "*.own") as seen:
        model(*inputs)
        model(*inputs)
    with pytest.raises(ValueError, match="was called 2 times, not step by step"):
        seen.weights("layers.0.own")
