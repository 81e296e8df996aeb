"""The local-p aligner."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.checks import mapped
from regard.nn.memory import Memory
from regard.nn.state import AttentionState
from regard.ops.heads import split_heads
from regard.ops.local_p import local_p_weights
from regard.ops.softmax import statistics_dtype


class LocalP(Aligner):
    r"""Luong's predictive local attention: the query predicts a position, and attends to a window around it.

    .. math:: p_t = S \cdot \mathrm{sigmoid}(v_p^\top \tanh(W_p q_t)), \quad
              a_{ts} = \mathrm{softmax}_{|s - \lfloor p_t\rfloor| \le D}(e_t)_s
              \exp\Bigl(-\frac{(s - p_t)^2}{2 (D/2)^2}\Bigr)

    S is the *true* length of each sequence, without padding. All queries are read in parallel, since p_t depends on q_t
    alone. Weights sum to less than one.

    Args:
        query_dim: width Cq of the queries, as passed to the attention module.
        hidden_dim: width A of the hidden layer that predicts the position, per head; None for that of the query.
        window: number D of keys on either side; 10 in the paper.
        num_heads: number of predicted positions: one per head of the score, or 1 that all heads share.

    Parameters: `position_map` W_p [H * A, Cq], `weight` v_p [H, A].

    Luong, Pham & Manning 2015, equations 9 and 10; see `regard.ops.local_p_weights`.

    >>> from regard.nn import Attention, Dot
    >>> out = Attention(Dot(), LocalP(query_dim=3, window=2))(torch.randn(1, 5, 3), torch.randn(1, 11, 3))
    >>> bool((out.weights().sum(-1) < 1).all()), int((out.weights() > 0).sum(-1).max())
    (True, 5)
    """

    @checked()
    def __init__(
        self, query_dim: Size, hidden_dim: Size | None = None, *, window: Size = 10, num_heads: Size = 1
    ) -> None:
        super().__init__()
        hidden = query_dim if hidden_dim is None else hidden_dim
        self.window = window
        self.num_heads = num_heads
        self.position_map = nn.Linear(query_dim, num_heads * hidden, bias=False)
        self.weight = nn.Parameter(torch.empty(num_heads, hidden))
        nn.init.normal_(self.weight, std=hidden**-0.5)

    def position(self, query: Tensor, lengths: Tensor) -> Tensor:
        """p_t of queries [B, T, Cq] in memories of true lengths [B]: [B, H, T], in float32 for half precision."""
        hidden = split_heads(mapped(self, self.position_map, query, "queries"), self.num_heads).tanh()
        statistics = statistics_dtype(hidden.dtype)  # half precision cannot hold places past a few hundred
        share = torch.einsum("bhqa,ha->bhq", hidden.to(statistics), self.weight.to(statistics)).sigmoid()
        return share * lengths[:, None, None]

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        position = self.centres(query, memory, state)
        return Aligned(local_p_weights(energy, position, memory.mask, window=self.window))

    def centres(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        """Return p_t, [B, H, T]."""
        return self.position(query, memory.lengths)

    def extra_repr(self) -> str:
        return f"window={self.window}, num_heads={self.num_heads}"
