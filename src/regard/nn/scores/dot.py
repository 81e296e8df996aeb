"""The dot-product scores."""

from __future__ import annotations

from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.dot import CARD, dot_attention, dot_score
from regard.ops.scaled_dot import CARD as SCALED_CARD
from regard.ops.scaled_dot import scaled_dot_attention, scaled_dot_score


class Dot(Score):
    """Luong's dot score: e_ts = q_t . k_s.

    Without arguments it has no parameters, and query and key must be of one width. With `hidden_dim` both are first
    mapped: k = W_K h, q = W_Q s, e = kᵀ q, the second alignment option of the notes.

    Args: see `Score`.

    Luong, Pham & Manning 2015, section 3.1; see `regard.ops.dot_attention`.

    >>> sum(p.numel() for p in Dot().parameters()), sum(p.numel() for p in Dot(3, 5, 7).parameters())
    (0, 56)
    """

    implementations = CARD.names
    inner_product = True

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return dot_score(query, memory.key)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return dot_attention(query, memory.key, memory.value, memory.mask, dropout=dropout, impl=impl)


class ScaledDot(Score):
    """The Transformer's score: e_ts = q_t . k_s / sqrt(D), D the width of one head.

    Args: see `Score`. `ScaledDot(512, 512, hidden_dim=64, num_heads=8)` holds W^Q and W^K of a Transformer layer.

    Vaswani et al. 2017, equation 1; see `regard.ops.scaled_dot_attention`.

    >>> ScaledDot(512, 512, hidden_dim=64, num_heads=8).query_map
    Linear(in_features=512, out_features=512, bias=False)
    """

    implementations = SCALED_CARD.names
    inner_product = True

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return scaled_dot_score(query, memory.key)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return scaled_dot_attention(query, memory.key, memory.value, memory.mask, dropout=dropout, impl=impl)
