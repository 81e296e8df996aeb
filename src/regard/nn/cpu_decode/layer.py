"""Step of a Transformer decoder layer with packed weights.

For a short source, the projections of query and context are absorbed into its keys and values: see `Absorbed`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.nn.aligners.softmax import Softmax
from regard.nn.cpu_decode.int8 import Compute
from regard.nn.cpu_decode.packing import Activation, Packing
from regard.nn.memory import Memory
from regard.nn.multi_head import MultiHead
from regard.nn.scores.dot import ScaledDot
from regard.nn.shared_memory import SharedMemory
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.softmax import masked_softmax

if TYPE_CHECKING:
    from regard.nn.transformer_layer import TransformerLayer


class Absorbed(NamedTuple):
    r"""Keys and values with the query projection and the output projection absorbed.

    .. math:: q_h \cdot k_{hs} = x \cdot W^{Q\top}_h k_{hs} + b^Q_h \cdot k_{hs}, \quad
              W^O [c_1; \dots; c_H] = \sum_{hs} a_{hs} W^O_h v_{hs}

    A read is then a product, a softmax and a product, without maps of query and context. This loads less memory as long
    as B * H * S <= C. Like projected keys, it holds the parameters as they were when the source was first read.

    Attributes:
        key: [B, C, H * S].
        energy: [B, 1, H * S], added to the energies: the part of the query's bias, and -inf at masked keys.
        value: [B, H * S, C].
        bias: [C], bias of W^O.
        heads: number H of heads.
        masked: True if there is a mask.
    """

    key: Tensor
    energy: Tensor
    value: Tensor
    bias: Tensor
    heads: int
    masked: bool

    @staticmethod
    def of(
        memory: Memory, query: tuple[Tensor, Tensor], output: tuple[Tensor, Tensor], scale: float
    ) -> Absorbed | None:
        """Absorb W^Q, b^Q, W^O and b^O into a memory; None if that would load more memory.

        Args:
            memory: keys and values [B, H, S, D], C = H * D.
            query, output: a matrix [C, C] and a bias [C] each.
            scale: scale of the energies.
        """
        batch, heads, size, width = memory.key.shape
        (weight, bias), (last, last_bias), channels = query, output, heads * width
        if batch * heads * size > channels:
            return None
        key = scale * memory.key
        energy = (key @ bias.view(heads, width, 1)).view(batch, 1, heads * size)
        if memory.bias is not None:
            energy = energy + memory.bias.view(batch, 1, heads * size)
        # [B, H, S, D] @ [H, D, C] -> [B, H, S, C]; keys become [B, C, H * S], values [B, H * S, C]
        key = (key @ weight.view(heads, width, channels)).view(batch, heads * size, channels).mT
        value = (memory.value @ last.mT.view(heads, width, channels)).view(batch, heads * size, channels)
        return Absorbed(key, energy, value, last_bias, heads, memory.bias is not None)

    def read(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Attend with vectors [N, C], N / B adjacent ones per row -> contexts [N, C] and weights [N, H, 1, S]."""
        rows, channels, words = self.key.shape
        energy = torch.baddbmm(self.energy, x.view(rows, -1, channels), self.key).view(x.shape[0], self.heads, 1, -1)
        weights = masked_softmax(energy) if self.masked else energy.softmax(-1)
        context = torch.baddbmm(self.bias, weights.view(rows, -1, words), self.value)
        return context.view(x.shape), weights


class PackedStep(NamedTuple):
    """Output vectors [B, 1, C], the updated KV cache, and the attention to the source, if there is one."""

    output: Tensor
    past: Memory
    attended: Attended | None


class PackedLayer:
    """`TransformerLayer.extend` by one vector per sequence without gradient: the same function up to rounding.

    At a small batch, the number of operations bounds the time of a step. Here queries, keys and values are one product
    (see `Packing`). Self-attention, whose weights are not needed, uses PyTorch's fused attention. Attention to the
    source is two products and a softmax, which yields its weights at no extra cost; for a short source, the projections
    are absorbed (see `Absorbed`).

    Args:
        layer: a layer with scaled dot-product attention and softmax (see `fits`).
        compute: number type of the products with weights.

    >>> from regard.nn.transformer_layer import LayerConfig, LayerState, TransformerLayer
    >>> layer, x = TransformerLayer(LayerConfig(dim=6, num_heads=2)).eval(), torch.randn(3, 1, 6)
    >>> with torch.inference_mode():
    ...     packed, plain = PackedLayer(layer).step(x, None, None), layer.extend(x, LayerState())
    >>> (packed.output - plain.output).abs().max() < 1e-5
    tensor(True)
    """

    def __init__(self, layer: TransformerLayer, compute: Compute = "float32") -> None:
        self._post = layer.post
        self._attention = _Heads(layer.attention, compute)
        self._attention_norm = _Norm(layer.attention_norm)
        self._cross = None if layer.cross is None else _Heads(layer.cross, compute)
        self._cross_norm = None if layer.cross_norm is None else _Norm(layer.cross_norm)
        self._inner, self._outer = _Map(layer.inner_map, compute, layer.activation), _Map(layer.outer_map, compute)
        self._hidden_norm = _Norm(layer.hidden_norm)

    @staticmethod
    def fits(layer: TransformerLayer) -> bool:
        """Return whether a layer can be stepped this way."""
        attentions = [layer.attention] if layer.cross is None else [layer.attention, layer.cross]
        return all(_plain(attention) for attention in attentions)

    def step(self, x: Tensor, past: Memory | None, source: SharedMemory | None) -> PackedStep:
        """Compute the step of one vector per sequence, [B, 1, C], in evaluation mode."""
        x, attended = x.squeeze(1), None
        context, past = self._attention.extend(self._read(x, self._attention_norm), past)
        x = self._wrote(x, context, self._attention_norm)
        if self._cross is not None and self._cross_norm is not None and source is not None:
            context, weights = self._cross.read(self._read(x, self._cross_norm), source)
            attended = Attended.from_weights(
                context.unsqueeze(1), weights, state=AttentionState(past.size), impl="packed"
            )
            x = self._wrote(x, context, self._cross_norm)
        hidden = self._inner(self._read(x, self._hidden_norm))
        x = self._wrote(x, self._outer(hidden), self._hidden_norm)
        return PackedStep(x.unsqueeze(1), past, attended)

    def _read(self, x: Tensor, norm: _Norm) -> Tensor:
        """Return the input of a sublayer: normalised with pre-norm."""
        return x if self._post else norm(x)

    def _wrote(self, x: Tensor, written: Tensor, norm: _Norm) -> Tensor:
        """Add the residual to the output of a sublayer, and normalise with post-norm."""
        total = x + written
        return norm(total) if self._post else total


class _Map:
    """Packed linear layer, with an optional activation."""

    def __init__(self, linear: nn.Linear, compute: Compute, then: Activation | None = None) -> None:
        self._weight, self._bias, self._then = linear.weight, linear.bias, then
        self._packing = Packing(compute=compute)

    def __call__(self, x: Tensor) -> Tensor:
        return self._packing.linear(x, self._weight, self._bias, self._then)


class _Norm:
    """LayerNorm without the overhead of a module call."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        self._parts = norm.normalized_shape, norm.weight, norm.bias, norm.eps

    def __call__(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, *self._parts)


class _Heads:
    """Steps of one multi-head attention; vectors are [B, C]."""

    def __init__(self, attention: MultiHead, compute: Compute) -> None:
        query, key, value, output = (one for one in _maps(attention) if one is not None)
        self._heads = attention.score.num_heads
        self._scale = (query.out_features // self._heads) ** -0.5
        self._weights = query.weight, key.weight, value.weight
        self._biases = query.bias, key.bias, value.bias
        self._last = output.weight, output.bias
        self._all, self._query = Packing(self._scale, compute), Packing(self._scale, compute)
        self._output = _Map(output, compute)

    def extend(self, x: Tensor, past: Memory | None) -> tuple[Tensor, Memory]:
        """Append x to the KV cache and attend to all of it."""
        size = x.shape[0], 3, self._heads, 1, -1
        query, key, value = self._all.stacked(x, self._weights, self._biases).view(size).unbind(1)
        new = Memory(key, value)
        past = new if past is None else past.append(new)
        context = F.scaled_dot_product_attention(query, past.key, past.value, scale=1.0)
        return self._output(context.view(x.shape)), past

    def read(self, x: Tensor, source: SharedMemory) -> tuple[Tensor, Tensor]:
        """Attend to the source, jointly for sequences that share a row: contexts [B, C], weights [B, H, 1, S]."""
        folded = source.memory.once(self, self._fold)
        if folded is not None:
            return folded.read(x)
        together = x.shape[0] // source.copies, source.copies, self._heads, -1
        # [rows * H, copies, D]
        query = self._query.stacked(x, self._weights[:1], self._biases[:1]).view(together).transpose(1, 2).flatten(0, 1)
        context, weights = self._attend(query, source.memory)
        # [rows, copies, H, D or S]
        context, weights = (part.unflatten(0, (-1, self._heads)).transpose(1, 2) for part in (context, weights))
        return self._output(context.reshape(x.shape)), weights.flatten(0, 1).unsqueeze(2)

    def _fold(self, memory: Memory) -> Absorbed | None:
        return Absorbed.of(memory, (self._weights[0], self._biases[0]), self._last, self._scale)

    def _attend(self, query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Compute softmax(q kᵀ) v: queries [BH, T, D], already divided by √D -> contexts and weights [BH, T, S]."""
        key, value, bias = memory.key.flatten(0, 1), memory.value.flatten(0, 1), memory.bias
        if bias is None:
            weights = torch.bmm(query, key.mT).softmax(-1)
        else:
            weights = masked_softmax(torch.baddbmm(bias, query, key.mT))
        return torch.bmm(weights, value), weights


def _plain(attention: MultiHead) -> bool:
    """Return whether it is scaled dot-product attention with softmax, and all maps have biases and one width."""
    if type(attention.score) is not ScaledDot or type(attention.align) is not Softmax or attention.impl is not None:
        return False
    maps = [one for one in _maps(attention) if one is not None and one.bias is not None]
    return len(maps) == 4 and len({size for one in maps for size in (one.in_features, one.out_features)}) == 1


def _maps(attention: MultiHead) -> list[nn.Linear | None]:
    """Return W^Q, W^K, W^V and W^O; None for a missing map."""
    return [attention.score.query_map, attention.score.key_map, attention.value_map, attention.output_map]
