"""The cosine score."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from regard.arguments import Factor, Size, checked
from regard.nn.checks import check_width, mapped
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.cosine import inverse_length, unit
from regard.ops.dot import CARD, dot_attention, dot_score
from regard.ops.heads import split_heads
from regard.ops.softmax import full_precision


class Cosine(Score):
    r"""Graves' content-based score with a strength read off the query: e_ts = β_t cos(q_t, k_s).

    .. math:: q_t = W x_t, \quad \beta_t = \mathrm{softplus}(b^\top x_t + b_0), \quad
              e_{ts} = \beta_t \frac{q_t^\top k_s}{\lVert q_t\rVert \lVert k_s\rVert}

    x_t is the query (for an NTM, the output of the controller). Keys are not projected; all heads read the same memory.

    Args:
        query_dim: width of the queries.
        key_dim: width of the keys, that is of a memory row.
        num_heads: how many scores run side by side.
        softness: ε in the length √(|k|² + ε²) of a key; 0 for its true length. See `regard.ops.cosine.inverse_length`.

    Parameters: `query_map` W, `strength_map` b.

    Graves, Wayne & Danihelka 2014, equations 5 and 6; see `regard.ops.cosine_attention`.

    >>> Cosine(query_dim=3, key_dim=5).query_map
    Linear(in_features=3, out_features=5, bias=True)
    """

    implementations = CARD.names

    @checked()
    def __init__(self, query_dim: Size, key_dim: Size, *, num_heads: Size = 1, softness: Factor = 0.0) -> None:
        super().__init__(num_heads=num_heads)
        self.softness = softness
        self.key_dim = key_dim
        self.query_map = nn.Linear(query_dim, num_heads * key_dim)
        self.strength_map = nn.Linear(query_dim, num_heads)

    def queries(self, query: Tensor) -> Tensor:
        """[B, T, Cq] -> β_t q_t / |q_t|, [B, H, T, D], in float32 for half precision."""
        return self.aim(mapped(self, self.query_map, query, "queries"), self.strength_map(query))

    def aim(self, direction: Tensor, strength: Tensor) -> Tensor:
        """Outputs of the maps, W x [B, T, H D] and b x + b_0 [B, T, H] -> β_t q_t / |q_t|, [B, H, T, D]."""
        towards = unit(split_heads(direction, self.num_heads))
        # [B, H, T, D] * [B, H, T, 1]
        return towards * F.softplus(strength.to(towards.dtype)).transpose(1, 2).unsqueeze(3)

    def keys(self, key: Tensor) -> Tensor:
        """[B, S, D] -> k_s / |k_s|, [B, H, S, D]: with both sides of unit length the cosine is a dot product."""
        check_width(self, key, self.key_dim, "keys")
        aimed = key * inverse_length(key, self.softness).unsqueeze(-1) if self.softness else unit(key)
        return aimed.unsqueeze(1).expand(-1, self.num_heads, -1, -1)

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return dot_score(query, memory.key)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        with full_precision(query):
            return dot_attention(query, memory.key, memory.value, memory.mask, dropout=dropout, impl=impl)
