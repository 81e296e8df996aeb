"""Transformer weights and settings in the layout of CTranslate2, for export to engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.transformer import Transformer
from regard.models.transformer_encoder import PositionedEmbeddings, TransformerEncoder
from regard.nn.multi_head import MultiHead
from regard.nn.positions import LearnedPositions
from regard.nn.rotary import Rotary
from regard.nn.scores.base import Score
from regard.nn.scores.dot import ScaledDot
from regard.nn.transformer_layer import ACTIVATIONS, TransformerLayer
from regard.ops.sinusoidal import sinusoidal_positions

PLACES = 4096
"""Number of exported sinusoidal positions; the model itself has no limit."""


@dataclass(frozen=True)
class TransformerLayout:
    """Settings and weights of CTranslate2's Transformer specification.

    Attributes:
        num_layers: layers of the encoder and of the decoder.
        num_heads: H.
        pre_norm: a sublayer normalises its input; otherwise the residual sum is normalised after it.
        activation: `"relu"` or `"gelu"`.
        epsilon: epsilon of the layer norms.
        rotary_base: base of rotary positions; None if positions are added to the embeddings.
        places: maximum length of source and target; None for no limit.
        sizes: source and target vocabulary sizes.
        weights: weights by name. W^Q, W^K and W^V of self-attention are one matrix [3C, C], W^K and W^V of
            cross-attention one [2C, C]. Embeddings exclude their scale sqrt(C), which the specification implies.

    >>> from regard.nn.transformer_layer import LayerConfig
    >>> layout = TransformerLayout.of(Transformer(11, 13, LayerConfig(dim=6, num_heads=2), num_layers=1))
    >>> layout.weights["decoder/layer_0/attention/linear_1/weight"].shape
    torch.Size([12, 6])
    """

    num_layers: int
    num_heads: int
    pre_norm: bool
    activation: str
    epsilon: float
    rotary_base: float | None
    places: int | None
    sizes: tuple[int, int]
    weights: dict[str, Tensor]

    @classmethod
    @torch.no_grad()
    def of(cls, model: nn.Module, engine: str = "ctranslate2") -> TransformerLayout:
        """Return the layout of a model, with its weights on the CPU in float32.

        Raises:
            ValueError: not an encoder-decoder Transformer with scaled dot-product attention.
        """
        if type(model) is not Transformer:
            raise ValueError(
                f"the engine {engine} runs encoder-decoder Transformers; {type(model).__name__} is none, "
                "leave the engine out"
            )
        encoder = _own_encoder(model, engine)
        score, layer = _score(encoder, engine), _layers(encoder.layers)[0]
        weights = {name: weight.detach().float().cpu() for name, weight in _weights(model, encoder)}
        tables = [weights[name] for name in weights if name.endswith("position_encodings/encodings")]
        return TransformerLayout(
            num_layers=len(encoder.layers),
            num_heads=score.num_heads,
            pre_norm=not layer.post,
            activation=next(name for name, function in ACTIVATIONS.items() if function is layer.activation),
            epsilon=layer.hidden_norm.eps,
            rotary_base=score.base if isinstance(score, Rotary) else None,
            places=min((len(table) - 1 for table in tables), default=None),
            sizes=(encoder.words.table.num_embeddings, model.words.table.num_embeddings),
            weights=weights,
        )


def _own_encoder(model: Transformer, engine: str) -> TransformerEncoder:
    """Return the encoder of a Transformer; CTranslate2 requires the same layers and positions as in the decoder."""
    encoder = model.encoder
    if not isinstance(encoder, TransformerEncoder) or _described(encoder) != _described(model):
        raise ValueError(
            f"the engine {engine} runs Transformers with an encoder of their own; this one has another encoder, "
            "leave the engine out"
        )
    if encoder.words.places is None and not isinstance(_layers(encoder.layers)[0].attention.score, Rotary):
        raise ValueError(f"the engine {engine} runs Transformers with positions; this one has none, leave it out")
    return encoder


def _described(part: Transformer | TransformerEncoder) -> tuple[object, ...]:
    """Return the properties that must be equal in encoder and decoder."""
    layers = _layers(part.decoder.layers if isinstance(part, Transformer) else part.layers)
    layer, words = layers[0], part.words
    score = layer.attention.score
    return (
        *(len(layers), score.num_heads, type(score), layer.post, layer.activation, layer.hidden_norm.eps),
        *(words.table.embedding_dim, layer.inner_map.out_features, type(words.places)),
    )


def _score(encoder: TransformerEncoder, engine: str) -> Score:
    """Return the score of the encoder's self-attention; all attentions of a Transformer have one kind."""
    score = _layers(encoder.layers)[0].attention.score
    inner = score.score if isinstance(score, Rotary) else score
    if not isinstance(inner, ScaledDot):
        raise ValueError(
            f"the engine {engine} attends by scaled dot products; the score of this Transformer is "
            f"{type(inner).__name__}, leave the engine out"
        )
    return score


def _layers(layers: nn.ModuleList) -> list[TransformerLayer]:
    return [layer for layer in layers if isinstance(layer, TransformerLayer)]


def _weights(model: Transformer, encoder: TransformerEncoder) -> Iterator[tuple[str, Tensor]]:
    yield from _words("encoder", "embeddings_0", encoder.words)
    yield from _stack("encoder", encoder.layers, encoder.norm)
    yield from _words("decoder", "embeddings", model.words)
    yield from _stack("decoder", model.decoder.layers, model.decoder.norm)
    yield from _linear("decoder/projection", model.output_map)


def _words(side: str, embeddings: str, words: PositionedEmbeddings) -> Iterator[tuple[str, Tensor]]:
    yield f"{side}/{embeddings}/weight", words.table.weight
    if words.places is None:
        return
    if isinstance(words.places, LearnedPositions):
        table: Tensor = words.places.table
    else:
        table = sinusoidal_positions(PLACES, words.table.embedding_dim, base=words.places.base)
    # One extra position: when scoring, CTranslate2 also computes the unused step after the last token.
    yield f"{side}/position_encodings/encodings", F.pad(table, (0, 0, 0, 1))


def _stack(side: str, layers: nn.ModuleList, norm: nn.Module) -> Iterator[tuple[str, Tensor]]:
    for number, layer in enumerate(_layers(layers)):
        yield from _layer(f"{side}/layer_{number}", layer)
    if isinstance(norm, nn.LayerNorm):
        yield from _norm(f"{side}/layer_norm", norm)


def _layer(name: str, layer: TransformerLayer) -> Iterator[tuple[str, Tensor]]:
    query, key, value, output = _maps(layer.attention)
    yield from _linear(f"{name}/self_attention/linear_0", query, key, value)
    yield from _linear(f"{name}/self_attention/linear_1", output)
    yield from _norm(f"{name}/self_attention/layer_norm", layer.attention_norm)
    if layer.cross is not None and layer.cross_norm is not None:
        query, key, value, output = _maps(layer.cross)
        yield from _linear(f"{name}/attention/linear_0", query)
        yield from _linear(f"{name}/attention/linear_1", key, value)
        yield from _linear(f"{name}/attention/linear_2", output)
        yield from _norm(f"{name}/attention/layer_norm", layer.cross_norm)
    yield from _linear(f"{name}/ffn/linear_0", layer.inner_map)
    yield from _linear(f"{name}/ffn/linear_1", layer.outer_map)
    yield from _norm(f"{name}/ffn/layer_norm", layer.hidden_norm)


def _maps(attention: MultiHead) -> tuple[nn.Linear, ...]:
    """W^Q, W^K, W^V and W^O."""
    score = attention.score.score if isinstance(attention.score, Rotary) else attention.score
    found = (score.query_map, score.key_map, attention.value_map, attention.output_map)
    return tuple(each for each in found if each is not None)


def _linear(name: str, *maps: nn.Linear) -> Iterator[tuple[str, Tensor]]:
    """Yield weight and bias of a linear map, or of several with the same input, concatenated."""
    yield f"{name}/weight", torch.cat([each.weight for each in maps])
    yield f"{name}/bias", torch.cat([each.bias for each in maps])


def _norm(name: str, norm: nn.LayerNorm) -> Iterator[tuple[str, Tensor]]:
    yield f"{name}/gamma", norm.weight
    yield f"{name}/beta", norm.bias
