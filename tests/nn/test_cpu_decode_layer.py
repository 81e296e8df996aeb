"""A packed decoder layer steps as the plain one does."""

from __future__ import annotations

import copy

import pytest
import torch

from regard import Mask
from regard.nn import LayerConfig, LayerState, TransformerLayer, pack
from regard.nn.shared_memory import SharedMemory
from tests.mechanism import assert_close

SIZES = pytest.mark.parametrize("dim", [8, 128])  # products too small for blocks, and in blocks


def layers(dim: int = 8, *, cross: bool = True, norm: str = "pre", rotary: bool = False) -> list[TransformerLayer]:
    """A decoder layer, and the same packed."""
    made = LayerConfig(dim=dim, num_heads=2, hidden_dim=3 * dim, norm=norm, activation="gelu", rotary=rotary)
    layer = TransformerLayer(made, cross=cross).to("cpu").eval()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return [layer, pack(copy.deepcopy(layer))]


def vectors(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device="cpu")


@SIZES
@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("mask", [None, Mask.padding([5, 3]), Mask.padding([4, 0])])
@pytest.mark.parametrize("rows", [[1, 0], [0, 0, 0, 1, 1, 1], [1], [0, 1, 1]])
def test_steps_and_reads_are_the_same(dim: int, norm: str, mask: Mask | None, rows: list[int]) -> None:
    both, source = layers(dim, norm=norm), vectors(2, 5, dim)
    states = [layer.remember(source, mask) for layer in both]
    with torch.inference_mode():
        for step in range(13):
            if step == 3:
                states = [state.select(torch.tensor(rows, device="cpu")) for state in states]
            x = vectors(len(rows) if step >= 3 else 2, 1, dim)
            plain, packed = (layer.extend(x, state) for layer, state in zip(both, states, strict=True))
            assert_close(packed.output, plain.output, tolerance=2e-5)
            assert plain.attended is not None
            assert packed.attended is not None
            assert_close(packed.attended.context, plain.attended.context, tolerance=2e-5)
            assert_close(packed.attended.weights(), plain.attended.weights(), tolerance=1e-5)
            assert packed.state.source_read is not None
            assert packed.state.source_read.step == step + 1
            states = [plain.state, packed.state]


@pytest.mark.parametrize(("words", "folded"), [(32, True), (33, False)])
@pytest.mark.parametrize("mask", [None, Mask.padding([20, 5])])
def test_short_sources_are_folded(words: int, folded: bool, mask: Mask | None) -> None:
    both, source, x = layers(128), vectors(2, words, 128), vectors(2, 1, 128)
    states = [layer.remember(source, mask) for layer in both]
    with torch.inference_mode():
        plain, packed = (layer.extend(x, state) for layer, state in zip(both, states, strict=True))
        assert_close(packed.output, plain.output, tolerance=2e-5)
    read = states[1].source
    assert isinstance(read, SharedMemory)
    assert [one is not None for one in read.memory._made.values()] == [folded]


@SIZES
def test_a_layer_without_a_source(dim: int) -> None:
    both, states = layers(dim, cross=False), [LayerState(), LayerState()]
    with torch.inference_mode():
        for _ in range(3):
            x = vectors(3, 1, dim)
            plain, packed = (layer.extend(x, state) for layer, state in zip(both, states, strict=True))
            assert_close(packed.output, plain.output, tolerance=2e-5)
            assert packed.attended is None
            states = [plain.state, packed.state]


def test_plain_and_packed_steps_can_follow_each_other() -> None:
    plain, packed = layers(cross=False)
    x = vectors(3, 4, 8)
    with torch.inference_mode():
        at_once = plain.extend(x, LayerState()).output
        begun = packed.extend(x[:, :2], LayerState())
        third = packed.extend(x[:, 2:3], begun.state)
        last = plain.extend(x[:, 3:], third.state)
    assert_close(torch.cat((begun.output, third.output, last.output), 1), at_once, tolerance=2e-5)


def test_steps_follow_the_weights() -> None:
    plain, packed = layers(128, cross=False)
    x = vectors(3, 1, 128)
    with torch.no_grad():
        packed.extend(x, LayerState())
        for layer in (plain, packed):
            layer.attention.value_map.bias.add_(1.0)  # type: ignore[union-attr]
            layer.attention.score.key_map.weight.mul_(2.0)  # type: ignore[union-attr]
        assert_close(packed.extend(x, LayerState()).output, plain.extend(x, LayerState()).output, tolerance=2e-5)


def test_whoever_watches_is_shown_each_read() -> None:
    _, packed = layers()
    seen: list[object] = []
    handles = [packed.attention.watch(seen.append), packed.cross.watch(seen.append)]  # type: ignore[union-attr]
    state = packed.remember(vectors(2, 5, 8))
    with torch.inference_mode():
        step = packed.extend(vectors(2, 1, 8), state)
        assert len(seen) == 2
        for handle in handles:
            handle.remove()
        packed.extend(vectors(2, 1, 8), step.state)
    assert len(seen) == 2


def test_what_does_not_fit_is_left_to_the_layer() -> None:
    plain, turning = layers(rotary=True, cross=False)
    x = vectors(2, 1, 8)
    with torch.inference_mode():
        assert turning._packed is None
        assert_close(turning.extend(x, LayerState()).output, plain.extend(x, LayerState()).output)
        _, packed = layers(cross=False)
        assert packed.double().extend(x.double(), LayerState()).output.dtype == torch.float64
    _, learning = layers(cross=False)
    learning.extend(x, LayerState()).output.sum().backward()
    assert learning.attention.score.query_map.weight.grad is not None  # type: ignore[union-attr]
