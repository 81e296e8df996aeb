"""A Transformer layer against torch's own, and a decoder layer with its cache."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard import Mask
from regard.nn import LayerConfig, LayerState, MultiHead, TransformerLayer
from tests.mechanism import assert_close, check_gradients

norms = pytest.mark.parametrize("norm", ["pre", "post"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


def blocks(norm: str = "pre", activation: str = "relu", dim: int = 6) -> LayerConfig:
    return LayerConfig(dim=dim, num_heads=2, hidden_dim=7, dropout=0.0, norm=norm, activation=activation)


def copy_attention(ours: MultiHead, theirs: nn.MultiheadAttention) -> None:
    maps = [ours.score.query_map, ours.score.key_map, ours.value_map]
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in maps]))
    theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in maps]))
    theirs.out_proj.load_state_dict(ours.output_map.state_dict())


@torch.no_grad()
def torchs(layer: TransformerLayer, made: type[nn.Module], norm: str, activation: str) -> nn.Module:
    """torch's layer with the weights of ours, made different from their initial values first."""
    for parameter in layer.parameters():
        parameter.add_(0.1 * torch.randn_like(parameter))
    theirs = made(6, 2, 7, dropout=0.0, activation=activation, batch_first=True, norm_first=norm == "pre").double()
    copy_attention(layer.attention, theirs.self_attn)
    theirs.norm1.load_state_dict(layer.attention_norm.state_dict())
    theirs.linear1.load_state_dict(layer.inner_map.state_dict())
    theirs.linear2.load_state_dict(layer.outer_map.state_dict())
    last = theirs.norm2
    if layer.cross is not None:
        copy_attention(layer.cross, theirs.multihead_attn)
        theirs.norm2.load_state_dict(layer.cross_norm.state_dict())
        last = theirs.norm3
    last.load_state_dict(layer.hidden_norm.state_dict())
    return theirs


def outside(lengths: Tensor, size: int) -> Tensor:
    return torch.arange(size) >= lengths.unsqueeze(1)


@norms
@activations
def test_encoder_layer_is_torchs(norm: str, activation: str) -> None:
    layer, x, lengths = TransformerLayer(blocks(norm, activation)).double(), torch.randn(3, 5, 6).double(), [5, 2, 4]
    theirs = torchs(layer, nn.TransformerEncoderLayer, norm, activation)
    padding = outside(torch.tensor(lengths), 5)
    expected = theirs(x, src_key_padding_mask=padding)
    assert_close(layer(x, Mask.padding(lengths))[~padding], expected[~padding], tolerance=1e-10)


@norms
def test_decoder_layer_is_torchs(norm: str) -> None:
    layer = TransformerLayer(blocks(norm), cross=True).double()
    theirs = torchs(layer, nn.TransformerDecoderLayer, norm, "relu")
    x, source, lengths = torch.randn(3, 7, 6).double(), torch.randn(3, 5, 6).double(), [5, 2, 4]
    causal = nn.Transformer.generate_square_subsequent_mask(7, dtype=torch.float64)
    padding = torch.zeros(3, 5).double().masked_fill(outside(torch.tensor(lengths), 5), -torch.inf)
    expected = theirs(x, source, tgt_mask=causal, memory_key_padding_mask=padding)
    step = layer.extend(x, layer.remember(source, Mask.padding(lengths)))
    assert_close(step.output, expected, tolerance=1e-10)
    assert step.attended.weights().shape == (3, 2, 7, 5)


@norms
@pytest.mark.parametrize("rotary", [False, True])
def test_the_cache_changes_nothing(norm: str, rotary: bool) -> None:
    made = LayerConfig(dim=8, num_heads=2, dropout=0.0, norm=norm, rotary=rotary)
    layer, x = TransformerLayer(made).double(), torch.randn(3, 7, 8).double()
    at_once, state, outputs = layer.extend(x, LayerState()).output, LayerState(), []
    for part in x.split([1, 3, 1, 2], dim=1):
        step = layer.extend(part, state)
        state = step.state
        outputs.append(step.output)
    assert_close(torch.cat(outputs, 1), at_once, tolerance=1e-10)


def test_parameter_count() -> None:
    """Two attentions of 4 (C² + C), a feed-forward of 2CF + C + F, three norms of 2C; C = 6, F = 7."""
    counted = sum(parameter.numel() for parameter in TransformerLayer(blocks(), cross=True).parameters())
    assert counted == 2 * 4 * (36 + 6) + 2 * 6 * 7 + 6 + 7 + 3 * 12


def test_gradients() -> None:
    layer = TransformerLayer(blocks(), cross=True).double()
    source = torch.randn(2, 3, 6).double()
    check_gradients(
        lambda x: layer.extend(x, layer.remember(source, Mask.padding([3, 0]))).output, torch.randn(2, 2, 6)
    )


def test_dropout_is_off_in_evaluation() -> None:
    layer, x = TransformerLayer(LayerConfig(dim=6, num_heads=2, dropout=0.5)), torch.randn(2, 5, 6)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert_close(layer(x), layer(x))


def test_each_dropout_is_of_its_own_part() -> None:
    """With one share at 0.5 and the others at 0, only that part of the layer differs from evaluation."""
    rates = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
    x, source = torch.randn(2, 5, 6), torch.randn(2, 3, 6)
    for dropped in rates:
        layer = TransformerLayer(LayerConfig(dim=6, num_heads=2, **{**rates, dropped: 0.5}), cross=True)
        attentions = (layer.attention, layer.cross)
        assert {attention.dropout for attention in attentions} == {0.5 if dropped == "attention_dropout" else 0.0}
        assert layer.activation_dropout.p == (0.5 if dropped == "activation_dropout" else 0.0)
        assert layer.dropout.p == (0.5 if dropped == "dropout" else 0.0)
        state = layer.remember(source)
        assert not torch.equal(layer.extend(x, state).output, layer.extend(x, state).output)
    still = TransformerLayer(LayerConfig(dim=6, num_heads=2, **rates), cross=True)
    assert torch.equal(still(x), still(x))


def test_dropout_is_everywhere_unless_told_otherwise() -> None:
    layer = TransformerLayer(LayerConfig(dim=6, num_heads=2, dropout=0.25))
    assert (layer.attention.dropout, layer.activation_dropout.p, layer.dropout.p) == (0.25, 0.25, 0.25)


@pytest.mark.parametrize("rotary", [False, True])
def test_weights_start_as_torchs_do(rotary: bool) -> None:
    """W^Q, W^K and W^V uniform up to sqrt(6 / 4C), as rows of one matrix [3C, C]; W^O up to sqrt(6 / 2C)."""
    layer = TransformerLayer(LayerConfig(dim=96, num_heads=2, hidden_dim=192, rotary=rotary), cross=True)
    theirs = nn.TransformerDecoderLayer(96, 2, 192).self_attn.in_proj_weight
    bound = (6 / (4 * 96)) ** 0.5
    assert float(theirs.detach().abs().max()) == pytest.approx(bound, rel=1e-2)
    largest = {
        name: float(parameter.detach().abs().max())
        for name, parameter in layer.named_parameters()
        if parameter.dim() == 2
    }
    for name, value in largest.items():
        if "output_map" in name:
            assert value == pytest.approx((6 / (2 * 96)) ** 0.5, rel=1e-2)
        elif "query_map" in name or "key_map" in name or "value_map" in name:
            assert value == pytest.approx(bound, rel=1e-2)
        else:
            assert value == pytest.approx((6 / (96 + 192)) ** 0.5, rel=1e-2)
    assert len(largest) == 10


def test_bad_values_are_named() -> None:
    with pytest.raises(ValueError, match="a Transformer of width 6 cannot be split among 4 heads"):
        LayerConfig(dim=6, num_heads=4)
    with pytest.raises(ValueError, match=r"norm must be one of .*; got 'both'"):
        LayerConfig(norm="both")
    with pytest.raises(ValueError, match=r"activation must be one of .*; got 'swish'"):
        LayerConfig(activation="swish")
    with pytest.raises(ValueError, match=r"LayerConfig: dropout must lie in \[0, 1\); got 1.0"):
        LayerConfig(dropout=1.0)
    with pytest.raises(ValueError, match=r"LayerConfig: attention_dropout must lie in \[0, 1\); got -0.1"):
        LayerConfig(attention_dropout=-0.1)
    with pytest.raises(ValueError, match=r"LayerConfig: activation_dropout must lie in \[0, 1\); got 2"):
        LayerConfig(activation_dropout=2)
    with pytest.raises(ValueError, match="has an odd number, 3"):
        LayerConfig(dim=6, num_heads=2, rotary=True)
    with pytest.raises(ValueError, match="start from remember"):
        TransformerLayer(blocks(), cross=True).extend(torch.zeros(1, 1, 6), LayerState())
