"""Transformer encoder and its embeddings with positions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from regard.arguments import Share, Size, checked
from regard.constraints import heads_attend, rotary_scores
from regard.masks import Mask
from regard.models.embeddings import check_ids
from regard.models.encoded import Encoded, last_states
from regard.nn.dropout import Dropout
from regard.nn.positions import LearnedPositions, SinusoidalPositions
from regard.nn.rnn import token_mask
from regard.nn.transformer_layer import LayerConfig, TransformerLayer
from regard.specials import PAD

Positions = Literal["sinusoidal", "learned", "rotary", "none"]


class PositionedEmbeddings(nn.Module):
    """Embeddings times sqrt(C), plus positions, then dropout.

    Args:
        size: size of the vocabulary.
        dim: C, width of the vectors.
        dropout: probability of dropping a channel.
        positions: `"sinusoidal"` or `"learned"`; with `"rotary"` and `"none"` no vectors are added.
        max_length: number of learned positions, the longest text.

    Attributes:
        factor: sqrt(C).

    Parameters: `table.weight` [V, C], initialised with standard deviation 1 / sqrt(C); padding is zero.
    Vaswani et al. 2017, sections 3.4 and 3.5.
    """

    @checked()
    def __init__(self, size: int, dim: Size, *, dropout: Share, positions: Positions, max_length: Size) -> None:
        super().__init__()
        self.table = nn.Embedding(size, dim, padding_idx=PAD)
        self.factor = math.sqrt(dim)
        nn.init.normal_(self.table.weight, std=dim**-0.5)
        with torch.no_grad():
            self.table.weight[PAD].zero_()
        self.places: SinusoidalPositions | LearnedPositions | None = None
        if positions == "sinusoidal":
            self.places = SinusoidalPositions(dim)
        elif positions == "learned":
            self.places = LearnedPositions(max_length, dim)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Embed ids [B, T] at positions `start`, `start` + 1, ... -> [B, T, C]."""
        vectors: Tensor = self.table(ids) * self.factor
        if self.places is not None:
            vectors = self.places(vectors, start=start)
        dropped: Tensor = self.dropout(vectors)
        return dropped


class TransformerEncoder(nn.Module):
    """Transformer encoder: each word attends to all words.

    Args:
        size: size of the vocabulary.
        blocks: widths, heads and dropout of the layers; None for those of the paper's base model.
        num_layers: number of layers.
        positions: position encoding: `"sinusoidal"` or `"learned"` vectors added to the embeddings, `"rotary"` rotation
            of queries and keys, or `"none"`. Without positions the encoder is permutation-equivariant: the source is a
            set.
        max_length: number of learned positions, the longest text.

    Shapes: source [B, S], lengths [B] -> `Encoded` with states [B, S, C], zero at padding; its summary is the state of
    the last word. Vaswani et al. 2017, section 3.1; with pre-norm a LayerNorm follows the last layer.

    >>> encoder = TransformerEncoder(11, LayerConfig(dim=6, num_heads=2), num_layers=2)
    >>> encoder(torch.ones(2, 7).long(), torch.tensor([7, 4])).states.shape
    torch.Size([2, 7, 6])
    """

    @checked(rotary_scores, heads_attend)
    def __init__(
        self,
        size: int,
        blocks: LayerConfig | None = None,
        *,
        num_layers: Size = 6,
        positions: Positions = "sinusoidal",
        max_length: Size = 1024,
    ) -> None:
        super().__init__()
        blocks = with_rotary_positions(LayerConfig() if blocks is None else blocks, positions)
        self.output_dim = blocks.dim
        self.words = PositionedEmbeddings(
            size, blocks.dim, dropout=blocks.dropout, positions=positions, max_length=max_length
        )
        self.layers = nn.ModuleList(TransformerLayer(blocks) for _ in range(num_layers))
        self.norm = last_norm(blocks)

    def forward(self, source: Tensor, lengths: Tensor | None = None) -> Encoded:
        """Encode token ids [B, S] with true `lengths` [B]; None without padding."""
        mask = None if lengths is None else Mask.padding(lengths)
        states: Tensor = self.words(check_ids(self, source))
        for layer in self.layers:
            states = layer(states, mask)
        states = self.norm(states)
        if lengths is None:
            return Encoded(states, last_states(states), mask)
        ends = lengths.to(states.device)
        states = states.masked_fill(~token_mask(ends, states.shape[1]).unsqueeze(2), 0.0)
        return Encoded(states, last_states(states, ends), mask)


def with_rotary_positions(blocks: LayerConfig, positions: str) -> LayerConfig:
    """Return the configuration with rotary positions enabled if `positions` is `"rotary"`."""
    return replace(blocks, rotary=positions == "rotary")


def last_norm(blocks: LayerConfig) -> nn.Module:
    """Return the norm after the last layer: the output of pre-norm layers is not normalised."""
    return nn.LayerNorm(blocks.dim, eps=blocks.epsilon) if blocks.norm == "pre" else nn.Identity()
