"""Transformer layer: self-attention, attention to a source, and a feed-forward network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Choice, NotInRecipe, Scale, Share, Size, checked
from regard.constraints import heads_divide, rotary_pairs
from regard.masks import Mask
from regard.nn.checkpointing import Checkpointed
from regard.nn.cpu_decode.int8 import Compute
from regard.nn.cpu_decode.layer import PackedLayer
from regard.nn.dropout import Dropout
from regard.nn.external_memory import ExternalMemory
from regard.nn.memory import Memory
from regard.nn.multi_head import MultiHead
from regard.nn.rotary import Rotary
from regard.nn.scores.base import Score
from regard.nn.scores.dot import ScaledDot
from regard.nn.shared_memory import SharedMemory
from regard.nn.state import AttentionState
from regard.ops.attended import Attended

T = TypeVar("T")

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


@checked(heads_divide, rotary_pairs)
@dataclass(frozen=True, kw_only=True)
class LayerConfig:
    """Configuration of the layers of a Transformer.

    Attributes:
        dim: width C of the layers.
        num_heads: number H of attention heads; a head is C / H wide.
        hidden_dim: width of the hidden layer of the feed-forward network; None for 4C.
        dropout: dropout of embeddings and of the output of each sublayer.
        attention_dropout: dropout of attention weights; None for `dropout`.
        activation_dropout: dropout of hidden units of the feed-forward network; None for `dropout`.
        norm: position of the LayerNorms: `"pre"`, on the input of a sublayer, or `"post"` (Vaswani et al. 2017), on the
            sum of its input and output.
        activation: activation function of the feed-forward network; ReLU in the paper.
        epsilon: constant that the LayerNorms add to the variance.
        rotary: rotate queries and keys of self-attention by their positions.
        score: attention score: a name in a recipe, a function (C, H) -> score in Python; None for scaled dot product.
    """

    dim: Size = 512
    num_heads: Size = 8
    hidden_dim: Size | None = None
    dropout: Share = 0.1
    attention_dropout: Share | None = None
    activation_dropout: Share | None = None
    norm: Literal["pre", "post"] = "pre"
    activation: Literal["relu", "gelu"] = "relu"
    epsilon: Scale = 1e-5
    rotary: Annotated[bool, NotInRecipe()] = False
    score: Annotated[Callable[[int, int], Score], Choice("score")] | None = None

    def attention(self, *, rotary: bool = False) -> MultiHead:
        """Build a multi-head attention; with `rotary` it has rotary positions, if this configuration enables them."""
        head = self.dim // self.num_heads
        if self.score is None:
            score: Score = ScaledDot(self.dim, self.dim, head, num_heads=self.num_heads, bias=True)
        else:
            score = self.score(self.dim, self.num_heads)
        if rotary and self.rotary:
            score = Rotary(score)
        dropped = self._share(self.attention_dropout)
        return MultiHead(score, value_dim=self.dim, head_dim=head, output_dim=self.dim, bias=True, dropout=dropped)

    def hidden_dropout(self) -> Dropout:
        """Dropout of hidden units of the feed-forward network."""
        return Dropout(self._share(self.activation_dropout))

    def _share(self, given: float | None) -> float:
        return self.dropout if given is None else given


@dataclass(frozen=True)
class LayerState:
    """State of a decoder layer: projected keys and values of decoded tokens and of the source.

    Attributes:
        past: KV cache of decoded tokens, without a mask; None before the first token.
        past_read: state of self-attention; None before the first token.
        source: the source, shared by the hypotheses of a beam, possibly with an external memory; None in a decoder
            without a source.
        source_read: state of the attention to the source.
    """

    past: Memory | None = None
    past_read: AttentionState | None = None
    source: SharedMemory | ExternalMemory | None = None
    source_read: AttentionState | None = None

    def select(self, rows: Tensor, numbers: Sequence[int] | None = None) -> LayerState:
        """Select sequences of the batch by index: `rows` [B'], `numbers` the same as a list."""
        return LayerState(
            None if self.past is None else self.past.select(rows),
            None if self.past_read is None else self.past_read.select(rows),
            None if self.source is None else self.source.select(rows, numbers),
            None if self.source_read is None else self.source_read.select(rows),
        )

    def detach(self) -> LayerState:
        """Return the state detached from the autograd graph."""
        past = None if self.past is None else Memory(self.past.key.detach(), self.past.value.detach())
        return LayerState(past, self.past_read, self.source, self.source_read)


class LayerStep(NamedTuple):
    """Output vectors [B, T, C], the next state, and the attention to the source, if there is one."""

    output: Tensor
    state: LayerState
    attended: Attended | None


class TransformerLayer(Checkpointed):
    r"""A layer of an encoder (`forward`) or of a decoder (`extend`), with or without a source.

    .. math:: \text{post: } x \leftarrow \mathrm{norm}(x + f(x)), \quad
              \text{pre: } x \leftarrow x + f(\mathrm{norm}(x))

    for f = attention to itself, attention to the source, W_2 act(W_1 x + b_1) + b_2, in this order.

    Args:
        blocks: widths, heads, dropout, norm, activation, score.
        cross: add a sublayer of attention to a source.

    Parameters: `attention` (W^Q, W^K, W^V, W^O with biases), `cross` likewise, `inner_map` W_1, `outer_map` W_2, and
    a LayerNorm for each part. Weight matrices have Glorot initialisation, with W^Q, W^K and W^V as one matrix [3C, C],
    as in other implementations; biases are zero. As three matrices they would be larger by a factor of √2, which hurts
    the training of a post-norm Transformer at a high learning rate.

    Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020. Equal to `torch.nn.TransformerEncoderLayer` and
    `TransformerDecoderLayer` with the same weights.

    >>> import torch
    >>> layer = TransformerLayer(LayerConfig(dim=6, num_heads=2))
    >>> layer(torch.randn(2, 7, 6), Mask.padding([7, 4])).shape
    torch.Size([2, 7, 6])
    >>> step = layer.extend(torch.randn(2, 1, 6), LayerState())
    >>> layer.extend(torch.randn(2, 1, 6), step.state).state.past.size
    2
    """

    def __init__(self, blocks: LayerConfig, *, cross: bool = False) -> None:
        super().__init__()
        hidden = 4 * blocks.dim if blocks.hidden_dim is None else blocks.hidden_dim
        self.post = blocks.norm == "post"
        self.activation = ACTIVATIONS[blocks.activation]
        self.attention = blocks.attention(rotary=True)
        self.attention_norm = nn.LayerNorm(blocks.dim, eps=blocks.epsilon)
        self.cross = blocks.attention() if cross else None
        self.cross_norm = nn.LayerNorm(blocks.dim, eps=blocks.epsilon) if cross else None
        self.inner_map = nn.Linear(blocks.dim, hidden)
        self.outer_map = nn.Linear(hidden, blocks.dim)
        self.hidden_norm = nn.LayerNorm(blocks.dim, eps=blocks.epsilon)
        self.dropout = Dropout(blocks.dropout)
        self.activation_dropout = blocks.hidden_dropout()
        self._packed: PackedLayer | None = None
        self._initialise()

    def pack(self, compute: Compute = "float32") -> None:
        """Enable packed weights for single steps on a CPU without gradient (see `regard.nn.pack`)."""
        self._packed = PackedLayer(self, compute) if PackedLayer.fits(self) else None

    def forward(self, x: Tensor, mask: Mask | None = None) -> Tensor:
        """Apply the layer as an encoder: x [B, T, C] attends to all positions that `mask` allows."""
        return self._recomputed(lambda given: self._encode(given, mask), x)

    def remember(self, source: Tensor, mask: Mask | None = None) -> LayerState:
        """Return the state before the first token, with the source [B, S, C] projected once."""
        if self.cross is None:
            raise ValueError("TransformerLayer: a layer without cross=True has no source to remember")
        memory = self.cross.remember(source, mask=mask)
        if self._packed is not None:
            memory = Memory(memory.key.contiguous(), memory.value.contiguous(), memory.mask)
        return LayerState(source=SharedMemory(memory), source_read=self.cross.start(memory))

    def extend(self, x: Tensor, state: LayerState) -> LayerStep:
        """Apply the layer as a decoder: append x [B, T, C] to the past, with causal self-attention."""
        if self._packed is not None and self._quick(x, state):
            return self._step(self._packed, x, state)
        return self._recomputed(lambda given: self._extend(given, state), x)

    def _encode(self, x: Tensor, mask: Mask | None) -> Tensor:
        x, _ = self._attend(x, self.attention_norm, lambda read: self.attention(read, mask=mask))
        return self._feed_forward(x)

    def _extend(self, x: Tensor, state: LayerState) -> LayerStep:
        past: list[Memory] = []

        def itself(read: Tensor) -> Attended:
            new = self.attention.remember(read)
            past.append(new if state.past is None else state.past.append(new))
            return self.attention.read(read, Memory(past[0].key, past[0].value, Mask.causal()), state.past_read)

        x, seen = self._attend(x, self.attention_norm, itself)
        after, attended = LayerState(past[0], seen.state), None
        if self.cross is not None and self.cross_norm is not None:
            cross, source = self.cross, _source(state)
            x, attended = self._attend(x, self.cross_norm, lambda read: source.read(cross, read, state.source_read))
            after = LayerState(past[0], seen.state, source, attended.state)
        return LayerStep(self._feed_forward(x), after, attended)

    def _recomputed(self, compute: Callable[[Tensor], T], x: Tensor) -> T:
        watched = self.attention._watchers or (self.cross is not None and self.cross._watchers)
        return compute(x) if watched else super()._recomputed(compute, x)  # recomputing would call each hook twice

    def _quick(self, x: Tensor, state: LayerState) -> bool:
        """Return whether a packed step can compute this: hooks need the reads of the attention modules themselves."""
        if torch.is_grad_enabled() or self.training or x.shape[1] != 1 or x.dtype != torch.float32 or not x.is_cpu:
            return False
        if self.attention._watchers:
            return False
        if self.cross is None:
            return True
        source = _source(state)
        if isinstance(source, ExternalMemory):
            return False
        mask = source.memory.mask
        return not self.cross._watchers and (mask is None or not mask.by_position)

    def _step(self, packed: PackedLayer, x: Tensor, state: LayerState) -> LayerStep:
        assert not isinstance(state.source, ExternalMemory), "a packed step reads sources alone"
        output, past, attended = packed.step(x, state.past, state.source)
        read = None if attended is None else attended.state
        return LayerStep(output, LayerState(past, AttentionState(past.size), state.source, read), attended)

    def _initialise(self) -> None:
        attentions = [self.attention] if self.cross is None else [self.attention, self.cross]
        outer = [self.inner_map, self.outer_map, *(attention.output_map for attention in attentions)]
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, gain=1.0 if module in outer else 2**-0.5)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def _attend(self, x: Tensor, norm: nn.LayerNorm, attend: Callable[[Tensor], Attended]) -> tuple[Tensor, Attended]:
        """Apply an attention sublayer with residual connection and norm."""
        attended = attend(x if self.post else norm(x))
        total = x + self.dropout(attended.context)
        return (norm(total) if self.post else total), attended

    def _feed_forward(self, x: Tensor) -> Tensor:
        read = x if self.post else self.hidden_norm(x)
        total: Tensor = x + self.dropout(self.outer_map(self.activation_dropout(self.activation(self.inner_map(read)))))
        return self.hidden_norm(total) if self.post else total


def _source(state: LayerState) -> SharedMemory | ExternalMemory:
    if state.source is None:
        raise ValueError("TransformerLayer: this layer reads a source; start from remember(source)")
    return state.source
