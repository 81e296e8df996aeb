"""A Transformer under CTranslate2's names, which needs no CTranslate2."""

from __future__ import annotations

import pytest
import torch

from regard.engines.layout import PLACES, TransformerLayout
from regard.models import Bahdanau, Transformer
from regard.models.build import build
from regard.nn.transformer_layer import LayerConfig
from regard.ops import sinusoidal_positions

BLOCKS = LayerConfig(dim=6, num_heads=2, hidden_dim=10)

PARTS = {
    "self_attention": ("layer_norm", "linear_0", "linear_1"),
    "attention": ("layer_norm", "linear_0", "linear_1", "linear_2"),
    "ffn": ("layer_norm", "linear_0", "linear_1"),
}


def names(*, norm: str, layers: int) -> set[str]:
    """What the specification of a Transformer asks for."""
    found = {"encoder/embeddings_0/weight", "decoder/embeddings/weight"}
    found |= {f"decoder/projection/{each}" for each in ("weight", "bias")}
    for side in ("encoder", "decoder"):
        found.add(f"{side}/position_encodings/encodings")
        if norm == "pre":
            found |= {f"{side}/layer_norm/{each}" for each in ("gamma", "beta")}
        for part, pieces in PARTS.items():
            if (side, part) == ("encoder", "attention"):
                continue
            for piece in pieces:
                ends = ("gamma", "beta") if piece == "layer_norm" else ("weight", "bias")
                found |= {f"{side}/layer_{number}/{part}/{piece}/{end}" for number in range(layers) for end in ends}
    return found


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_names_are_those_of_the_specification(norm: str) -> None:
    model = Transformer(11, 13, LayerConfig(dim=6, num_heads=2, norm=norm), num_layers=2)
    layout = TransformerLayout.of(model)
    assert set(layout.weights) == names(norm=norm, layers=2)
    assert (layout.num_layers, layout.num_heads, layout.pre_norm) == (2, 2, norm == "pre")
    assert (layout.sizes, layout.epsilon) == ((11, 13), 1e-5)


def test_every_parameter_is_handed_over_once() -> None:
    model = Transformer(11, 13, BLOCKS, num_layers=2, positions="learned", max_length=7, tied="none")
    handed = sum(weight.numel() for weight in TransformerLayout.of(model).weights.values())
    beyond = 2 * 6  # a place after the last, on both sides
    assert handed - beyond == sum(parameter.numel() for parameter in model.parameters())


def test_maps_of_one_input_are_one_matrix() -> None:
    model = Transformer(11, 13, BLOCKS, num_layers=1, tied="none")
    weights, layer = TransformerLayout.of(model).weights, model.decoder.layers[0]
    query, key, value = weights["decoder/layer_0/self_attention/linear_0/weight"].split(6)
    assert torch.equal(query, layer.attention.score.query_map.weight.cpu())
    assert torch.equal(key, layer.attention.score.key_map.weight.cpu())
    assert torch.equal(value, layer.attention.value_map.weight.cpu())
    key, value = weights["decoder/layer_0/attention/linear_1/weight"].split(6)
    assert torch.equal(key, layer.cross.score.key_map.weight.cpu())
    assert torch.equal(value, layer.cross.value_map.weight.cpu())
    assert torch.equal(weights["decoder/layer_0/attention/linear_2/weight"], layer.cross.output_map.weight.cpu())
    assert torch.equal(weights["encoder/layer_0/ffn/linear_0/weight"], model.encoder.layers[0].inner_map.weight.cpu())


def test_tied_embeddings_are_handed_over_under_each_name() -> None:
    weights = TransformerLayout.of(Transformer(11, 11, BLOCKS, num_layers=1, tied="all")).weights
    assert torch.equal(weights["encoder/embeddings_0/weight"], weights["decoder/embeddings/weight"])
    assert torch.equal(weights["decoder/projection/weight"], weights["decoder/embeddings/weight"])


def test_positions_are_a_table_or_a_turn() -> None:
    sines = TransformerLayout.of(Transformer(11, 13, BLOCKS, num_layers=1))
    table = sines.weights["encoder/position_encodings/encodings"]
    assert torch.equal(table[:PLACES], sinusoidal_positions(PLACES, 6, device="cpu"))
    assert (sines.places, sines.rotary_base) == (PLACES, None)
    learned = TransformerLayout.of(Transformer(11, 13, BLOCKS, num_layers=1, positions="learned", max_length=7))
    assert learned.places == 7
    rotary = TransformerLayout.of(
        Transformer(11, 13, LayerConfig(dim=8, num_heads=2), num_layers=1, positions="rotary")
    )
    assert (rotary.places, rotary.rotary_base) == (None, 10000.0)
    assert not any("position_encodings" in name for name in rotary.weights)


def test_other_models_are_refused_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="runs encoder-decoder Transformers; Bahdanau is none, leave the engine out"):
        TransformerLayout.of(Bahdanau(11, 13))
    other = build("transformer", 11, 13, dim=8, num_heads=2, num_layers=1, score="additive")
    with pytest.raises(ValueError, match="attends by scaled dot products; the score of this Transformer is Additive"):
        TransformerLayout.of(other)
