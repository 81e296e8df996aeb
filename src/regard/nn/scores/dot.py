"""The dot-product score."""

from __future__ import annotations

from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import State
from regard.ops.attended import Attended
from regard.ops.dot import CARD, dot_attention, dot_score


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

    def energy(self, query: Tensor, memory: Memory, state: State) -> Tensor:
        return dot_score(query, memory.key)

    def attend(self, query: Tensor, memory: Memory, state: State, *, dropout: float, impl: str | None) -> Attended:
        return dot_attention(query, memory.key, memory.value, memory.mask, dropout=dropout, impl=impl)
