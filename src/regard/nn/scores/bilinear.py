"""The bilinear score."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.arguments import Size
from regard.nn.checks import check_width
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.dot import CARD, dot_attention, dot_score


class Bilinear(Score):
    """Luong's general score: e_ts = q_tᵀ W k_s. Several heads read the same query and key, each with its own W.

    W k_s is computed once per key, in `remember`; the rest is a dot product.

    Args:
        query_dim: width of the queries.
        key_dim: width of the keys.
        num_heads: how many scores run side by side.

    Parameters: `weight` [H, Cq, Ck] = √Ck W. W is initialised as the identity
    (over the common channels) plus a little noise that separates the heads, so the score starts as that of `Dot`. From
    noise alone the model would first have to learn which channels correspond, with uninformative gradients. The factor
    √Ck compensates for Adam, which moves every entry by about the learning rate, while a score sums Cq Ck of them.

    Luong, Pham & Manning 2015, section 3.1; see `regard.ops.bilinear_attention`.

    >>> Bilinear(query_dim=3, key_dim=5).weight.shape
    torch.Size([1, 3, 5])
    """

    implementations = CARD.names
    inner_product = True

    def __init__(self, query_dim: Size, key_dim: Size, *, num_heads: Size = 1) -> None:
        super().__init__(num_heads=num_heads)
        self.weight = nn.Parameter(torch.empty(num_heads, query_dim, key_dim))
        nn.init.normal_(self.weight, std=query_dim**-0.5)
        with torch.no_grad():
            self.weight.add_(torch.eye(query_dim, key_dim), alpha=key_dim**0.5)

    def queries(self, query: Tensor) -> Tensor:
        """[B, T, Cq] -> [B, H, T, Cq]."""
        check_width(self, query, self.weight.shape[1], "queries")
        return query.unsqueeze(1).expand(-1, self.num_heads, -1, -1)

    def keys(self, key: Tensor) -> Tensor:
        """[B, S, Ck] -> W k_s, [B, H, S, Cq]: once for all queries, of which a decoder has one a step."""
        check_width(self, key, self.weight.shape[2], "keys")
        return (key / math.sqrt(self.weight.shape[2])).unsqueeze(1) @ self.weight.mT

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return dot_score(query, memory.key)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return dot_attention(query, memory.key, memory.value, memory.mask, dropout=dropout, impl=impl)
