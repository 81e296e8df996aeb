"""Attention of models that are not made of regard.nn, seen on their fused path."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import regard
from tests.mechanism import assert_close


class Block(nn.Module):
    """Attention by PyTorch's fused function, with heads that share keys."""

    def __init__(self, *, causal: bool = False) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(12, width) for width in (12, 6, 6))
        self.causal = causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = (layer(x).unflatten(-1, (-1, 3)).transpose(1, 2) for layer in self.maps)
        read = F.scaled_dot_product_attention(query, key, value, mask, is_causal=self.causal, enable_gqa=True)
        return read.transpose(1, 2).flatten(2)

    def expected(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, _ = (layer(x).unflatten(-1, (-1, 3)).transpose(1, 2) for layer in self.maps)
        logits = query @ key.repeat_interleave(2, 1).transpose(-1, -2) / 3**0.5
        return logits.masked_fill(~mask, -torch.inf).softmax(-1)


class StubAttention(nn.Module):
    """Attention that computes its weights itself and returns them, as eager models of transformers do."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        weights = (x @ x.transpose(-1, -2)).softmax(-1).unsqueeze(1)
        return (weights @ x.unsqueeze(1)).squeeze(1), weights


def test_the_fused_function_is_seen_and_left_as_it_is() -> None:
    model, x = nn.Sequential(Block(), Block(causal=True)), torch.randn(2, 5, 12)
    plain = model(x)
    with regard.capture(model) as seen:
        assert torch.equal(model(x), plain)
    assert list(seen) == ["0", "1"]
    everything, past = torch.ones(5, 5, dtype=torch.bool), torch.ones(5, 5, dtype=torch.bool).tril()
    assert_close(seen.weights("0"), model[0].expected(x, everything), tolerance=1e-6)
    assert_close(seen.weights("1"), model[1].expected(model[0](x), past), tolerance=1e-6)
    assert not seen.weights("0").requires_grad


def test_masks_of_both_kinds_and_rows_with_nothing_to_attend_to() -> None:
    model, x = Block(), torch.randn(1, 5, 12)
    mask = torch.tensor([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 1, 0, 1, 0]]).bool()
    for given in (mask, torch.zeros(5, 5).masked_fill(~mask, -torch.inf)):
        with regard.capture(model) as seen:
            model(x, given)
        assert_close(seen.weights(""), model.expected(x, mask).nan_to_num(0.0), tolerance=1e-6)
        assert float(seen.weights("")[0, :, 1].abs().sum()) == 0.0


def test_heads_rows_names_and_gradients_as_of_any_model() -> None:
    model, x = nn.Sequential(Block(), Block()), torch.randn(2, 5, 12, requires_grad=True)
    with regard.capture(model, layers=-1, heads=[3], rows=slice(1, 3), grad=True) as seen:
        model(x)
    assert list(seen) == ["1"]
    assert seen.weights("1").shape == (2, 1, 2, 5)
    assert torch.autograd.grad(seen.weights("1").square().sum(), x)[0].abs().sum() > 0
    with (
        pytest.raises(ValueError, match="no attention fits names='2'; there are: '0', '1'"),
        regard.capture(model, "2"),
    ):
        model(x)
    with (
        pytest.raises(ValueError, match="'0' has 4 heads and was called with 5 queries"),
        regard.capture(model, heads=4),
    ):
        model(x)


@pytest.mark.parametrize("training", [False, True])
def test_layers_of_torch_are_seen_without_their_dropout(training: bool) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(12, 3, 8, dropout=0.5, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).train(training)
    x, padding = torch.randn(2, 5, 12), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with regard.capture(model) as seen:
        model(x, src_key_padding_mask=padding)
    weights = seen.weights("layers.0.self_attn")
    own = model.layers[0].self_attn.eval()
    expected = own(x, x, x, key_padding_mask=padding, need_weights=True, average_attn_weights=False)[1]
    assert_close(weights, expected, tolerance=1e-6)
    assert float(weights[1, :, :, 3:].abs().max()) == 0.0


def test_weights_that_a_module_returns_are_seen_once() -> None:
    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner_attention = StubAttention()

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            found: tuple[Tensor, Tensor] = self.inner_attention(x)
            return found

    model, x = Outer(), torch.randn(2, 5, 4)
    with regard.capture(model) as seen:
        _, weights = model(x)
    assert list(seen) == ["inner_attention"]
    assert torch.equal(seen.weights("inner_attention"), weights)


def test_a_model_of_transformers_is_seen_on_its_fused_path() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 8}
    model = transformers.BertModel(transformers.BertConfig(vocab_size=31, **sizes)).eval()
    ids, mask = torch.randint(1, 31, (2, 7)), torch.tensor([[1] * 7, [1] * 4 + [0] * 3])
    with torch.no_grad():
        plain = model(ids, attention_mask=mask)[0]
        with regard.capture(model) as seen:
            assert torch.equal(model(ids, attention_mask=mask)[0], plain)
        model.set_attn_implementation("eager")
        eager = model(ids, attention_mask=mask, output_attentions=True).attentions
    for name, expected in zip(seen, eager, strict=True):
        assert_close(seen.weights(name), expected, tolerance=1e-6)
