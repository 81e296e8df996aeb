"""Comparison of two texts: encoder states with exact-match features, and features of two vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from regard.masks import Mask
from regard.models.encoded import Encoded, width_of
from regard.nn.attention_module import AttentionModule
from regard.nn.dropout import Dropout
from regard.nn.rnn import token_mask
from regard.ops.attended import Attended
from regard.ops.weights import Weights
from regard.systems.classification.split_pair import SplitPair

Comparison = Literal["joined", "signed", "absolute"]
MATCHES = 2
"""Number of exact-match features per word."""


def compare_vectors(mine: Tensor, other: Tensor, comparison: Comparison) -> Tensor:
    r"""Return features of two vectors: [a; b], [a; b; a - b; a ⊙ b], or [a; b; |a - b|; a ⊙ b].

    Args:
        mine, other: a and b, [..., C].
        comparison: `"joined"`, `"signed"` or `"absolute"`, in this order.

    >>> compare_vectors(torch.tensor([2.0]), torch.tensor([5.0]), "absolute")
    tensor([ 2.,  5.,  3., 10.])
    """
    if comparison == "joined":
        return torch.cat((mine, other), dim=-1)
    difference = mine - other
    difference = difference.abs() if comparison == "absolute" else difference
    return torch.cat((mine, other, difference, mine * other), dim=-1)


def compared_width(width: int, comparison: Comparison) -> int:
    """Return the width of the features that `compare_vectors` computes from two vectors of equal width."""
    return width * (2 if comparison == "joined" else 4)


class PairStates(NamedTuple):
    """Encoder states of both texts of each pair, from one shared encoder.

    Attributes:
        parts: ids of the texts: B first texts, then B second texts.
        states: [2B, S, C], zero at padding.
    """

    parts: SplitPair
    states: Tensor

    @classmethod
    def of(
        cls,
        encoder: nn.Module,
        words: Tensor,
        lengths: Tensor | None,
        matches: Tensor | None,
    ) -> PairStates:
        """Encode pairs [B, T] of true `lengths` [B], with `</s>` between the texts.

        Args:
            encoder: encoder applied to each text separately.
            words: ids of the pairs [B, T].
            lengths: true lengths of the pairs [B]; None without padding.
            matches: [B, T]: 2 for a word that occurs in the other text, 1 if only in another case, else 0. They are
                appended to the states as two features; None for no features.
        """
        parts = SplitPair.of(words, lengths)
        encoded: Encoded = encoder(*parts)
        return cls(parts, with_matches(encoded.states, parts, matches))

    @property
    def mask(self) -> Mask:
        """Mask of the words of each text."""
        return Mask.padding(self.parts.lengths)

    @property
    def padding(self) -> Tensor:
        """Mask [2B, S, 1], True at padding."""
        return ~token_mask(self.parts.lengths, self.states.shape[1]).unsqueeze(2)

    def across(self, attention: AttentionModule, states: Tensor, keys: Tensor | None = None) -> Attended:
        """Attend from the words of each text to those of the other, in one call for both directions.

        Args:
            attention: attention with one head.
            states: values [2B, S, C].
            keys: queries and keys [2B, S, K]; None for the values.
        """
        keys = states if keys is None else keys
        half = len(states) // 2  # rolling by B swaps first and second texts
        return attention(keys, keys.roll(half, 0), states.roll(half, 0), self.parts.other())  # type: ignore[no-any-return]

    def mean_and_max(self, words: Tensor) -> Tensor:
        """Return mean and maximum over the words of each text, [2B, S, H] -> [2B, 2H]; zeros for an empty text."""
        counts = self.parts.lengths.unsqueeze(1)
        mean = words.masked_fill(self.padding, 0.0).sum(1) / counts.clamp(min=1)
        highest = words.masked_fill(self.padding, -torch.inf).amax(1).masked_fill(counts == 0, 0.0)
        return torch.cat((mean, highest), dim=1)

    def drawn(self, attended: Attended, size: int) -> Weights:
        """Return the attention between both texts as lazily computed weights on the T tokens of a row, [B, T, T]."""

        def weigh(heads: Tensor, rows: Tensor) -> Tensor:
            joint = self.parts.crossed(attended.weights(), size).unsqueeze(1)  # [B, 1, T, T]
            return joint[:, heads][:, :, rows]

        return Weights(weigh, (len(self.states) // 2, 1, size, size), self.states.device, has_heads=False)


def with_matches(states: Tensor, parts: SplitPair, matches: Tensor | None) -> Tensor:
    """Append two exact-match features, from matches [B, T], to states [2B, S, C]: [2B, S, C + 2]."""
    if matches is None:
        return states
    found = parts.part(matches).unsqueeze(2)  # [2B, S, 1]
    return torch.cat((states, torch.cat((found == 2, found >= 1), dim=2).to(states.dtype)), dim=2)


def states_width(owner: nn.Module, encoder: nn.Module, *, exact_match: bool) -> int:
    """Return the width of the states of `PairStates`."""
    return width_of(owner, encoder) + MATCHES * exact_match


def feed_forward(input_dim: int, hidden_dim: int, dropout: float) -> nn.Sequential:
    """Return two layers with rectifiers, each after dropout: [..., input_dim] -> [..., hidden_dim]."""
    widths = (input_dim, hidden_dim, hidden_dim)
    layers = [(Dropout(dropout), nn.Linear(wide, narrow), nn.ReLU()) for wide, narrow in pairwise(widths)]
    return nn.Sequential(*(part for layer in layers for part in layer))
