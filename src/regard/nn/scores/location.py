"""The location score."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.location import location_score


class Location(Score):
    r"""Luong's location score: e_t = W q_t, an energy for each of L places. Keys are ignored.

    .. math:: a_t = \mathrm{softmax}((W q_t)_{1:S})

    Only positions matter, not the content of the memory: `remember` stores keys of width zero. Of a memory longer than
    L only the first L positions are read.

    Args:
        query_dim: width Cq of the queries.
        max_length: largest number L of keys; None in a recipe for that of the attention.
        num_heads: how many scores run side by side; each reads the whole query.

    Parameters: `weight` W [H, L, Cq].

    Luong, Pham & Manning 2015, equation 8 and footnote 6; see `regard.ops.location_attention`.

    >>> from regard.nn import Attention
    >>> attention = Attention(Location(query_dim=3, max_length=50))
    >>> attention(torch.randn(2, 7, 3), torch.randn(2, 11, 5)).weights().shape
    torch.Size([2, 7, 11])
    """

    @checked()
    def __init__(self, query_dim: Size, max_length: Size, *, num_heads: Size = 1) -> None:
        super().__init__(num_heads=num_heads)
        self.weight = nn.Parameter(torch.empty(num_heads, max_length, query_dim))
        nn.init.uniform_(self.weight, -(query_dim**-0.5), query_dim**-0.5)

    def queries(self, query: Tensor) -> Tensor:
        return query.unsqueeze(1).expand(-1, self.num_heads, -1, -1)

    def keys(self, key: Tensor) -> Tensor:
        """[B, S, Ck] -> [B, H, S, 0]: positions without content."""
        return key[..., :0].unsqueeze(1).expand(-1, self.num_heads, -1, -1)

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return location_score(query, self.weight, memory.size)
