"""The concat score."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.constraints import identity_fits
from regard.nn.checks import check_width
from regard.nn.memory import Memory
from regard.nn.scores.base import Score
from regard.nn.state import AttentionState
from regard.ops.additive import CARD, WITHOUT_DROPOUT, additive_attention, additive_score
from regard.ops.attended import Attended


class Concat(Score):
    r"""Luong's concat score: e_ts = vᵀ tanh(W [q_t; k_s]), one matrix on query and key together.

    .. math:: e_{ts} = v^\top \tanh(W [q_t; k_s]) = v^\top \tanh(W_q q_t + W_k k_s)

    W_k is applied once per key, in `remember`, and W_q once per query; the rest is additive attention.

    `identity_key=True` is what Luong's experiments really ran: their footnote 15 fixes the key's part of W to the
    identity. The perplexities printed for concat there (6.7 with global attention, against 6.1 for dot) are those
    of this cut-down form. They are no evidence against concat, nor against additive attention.

    Args:
        query_dim: width Cq of the queries.
        key_dim: width Ck of the keys.
        hidden_dim: width A of the hidden layer of one head; None for `key_dim`, in a recipe for that of the attention.
        num_heads: how many scores run side by side; each reads the whole query and key.
        identity_key: fix the part of W that maps keys to the identity, so that A = Ck, as in Luong's experiments.

    Parameters: `weight` W [H, A, Cq + Ck], the query's columns first ([H, Ck, Cq] with `identity_key`); `v` [H, A].

    Luong, Pham & Manning 2015, section 3.1 and footnote 15; see `regard.ops.concat_attention`.

    >>> Concat(query_dim=3, key_dim=5, hidden_dim=7).weight.shape
    torch.Size([1, 7, 8])
    >>> Concat(query_dim=3, key_dim=5, identity_key=True).weight.shape
    torch.Size([1, 5, 3])
    """

    implementations = CARD.names
    without_dropout = WITHOUT_DROPOUT

    @checked(identity_fits)
    def __init__(
        self,
        query_dim: Size,
        key_dim: Size,
        hidden_dim: Size | None = None,
        *,
        num_heads: Size = 1,
        identity_key: bool = False,
    ) -> None:
        super().__init__(num_heads=num_heads)
        hidden = key_dim if hidden_dim is None else hidden_dim
        self.query_dim = query_dim
        self.key_dim = key_dim
        self.identity_key = identity_key
        columns = query_dim if identity_key else query_dim + key_dim
        self.weight = nn.Parameter(torch.empty(num_heads, hidden, columns))
        self.v = nn.Parameter(torch.empty(num_heads, hidden))
        nn.init.uniform_(self.weight, -(columns**-0.5), columns**-0.5)
        nn.init.normal_(self.v, std=hidden**-0.5)

    def queries(self, query: Tensor) -> Tensor:
        """[B, T, Cq] -> W_q q_t, [B, H, T, A]."""
        check_width(self, query, self.query_dim, "queries")
        return query.unsqueeze(1) @ self.weight[..., : self.query_dim].mT

    def keys(self, key: Tensor) -> Tensor:
        """[B, S, Ck] -> W_k k_s, [B, H, S, A]; the key itself with `identity_key`."""
        check_width(self, key, self.key_dim, "keys")
        if self.identity_key:
            return key.unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        return key.unsqueeze(1) @ self.weight[..., self.query_dim :].mT

    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        return additive_score(query, memory.key, self.v)

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        return additive_attention(query, memory.key, memory.value, self.v, memory.mask, dropout=dropout, impl=impl)
