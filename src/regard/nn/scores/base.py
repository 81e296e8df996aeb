"""The first choice of a mechanism: how well a query and a key match."""

from __future__ import annotations

import abc
from typing import ClassVar

from torch import Tensor, nn

from regard.arguments import Size, checked
from regard.nn.checks import mapped
from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past
from regard.ops.attended import Attended
from regard.ops.heads import split_heads
from regard.ops.softmax import softmax_attention


class Score(nn.Module, abc.ABC):
    """A score: energies e_ts = score(query_t, key_s).

    A new one needs `energy` and nothing else; masks, heads, step-by-step reading, captured weights and every
    aligner come with it. `queries` and `keys` say what is done once per vector (projections, head splitting), so
    that `energy` does only what must be done per pair. A score that has a fused path overrides `attend` too.

    With `hidden_dim` the query and the key are first mapped by linear layers to `num_heads` vectors of that width;
    without it they are taken as they are, split among the heads.

    Args:
        query_dim: width of the queries; needed with `hidden_dim`.
        key_dim: width of the keys; needed with `hidden_dim`.
        hidden_dim: width of one head after the maps; None for no maps. In a recipe, None is the width that the
            attention gives, and no maps for `dot` with one head.
        num_heads: how many scores run side by side.
        bias: add biases in the linear maps of queries and keys.

    >>> import torch
    >>> from regard.nn import Attention
    >>> class Distance(Score):
    ...     '''e = -|q - k|^2'''
    ...     def energy(self, query, memory, state):
    ...         return -torch.cdist(query, memory.key).square()
    >>> Attention(Distance())(torch.zeros(2, 3, 5), torch.randn(2, 7, 5)).weights().shape
    torch.Size([2, 3, 7])
    """

    registered_as: ClassVar[str] = "score"
    """The kind under which `regard.register` names it."""

    recurrent: bool = False
    """True if an energy depends on the weights of earlier queries, so that queries must be read one by one."""

    implementations: tuple[str, ...] = ("reference",)
    """The ways to read by this score that can be asked for by name."""

    without_dropout: tuple[str, ...] = ()
    """Those that cannot drop weights."""

    from_the_end: bool = False
    """True if a query's place is counted from the end of the memory, so that queries must be read together."""

    @checked()
    def __init__(
        self,
        query_dim: Size | None = None,
        key_dim: Size | None = None,
        hidden_dim: Size | None = None,
        *,
        num_heads: Size = 1,
        bias: bool = False,
    ) -> None:
        super().__init__()
        if hidden_dim is None and (query_dim is not None or key_dim is not None):
            raise ValueError(
                f"{type(self).__name__}: query_dim and key_dim are for maps; give hidden_dim too, or none of them"
            )
        self.num_heads = num_heads
        self.query_map: nn.Linear | None = None
        self.key_map: nn.Linear | None = None
        if hidden_dim is not None:
            if query_dim is None or key_dim is None:
                raise ValueError(f"{type(self).__name__}: hidden_dim={hidden_dim} needs query_dim and key_dim too")
            self.query_map = nn.Linear(query_dim, num_heads * hidden_dim, bias=bias)
            self.key_map = nn.Linear(key_dim, num_heads * hidden_dim, bias=bias)

    def queries(self, query: Tensor) -> Tensor:
        """Map queries once: [B, T, Cq] -> [B, H, T, D]."""
        return split_heads(mapped(self, self.query_map, query, "queries"), self.num_heads)

    def keys(self, key: Tensor) -> Tensor:
        """Map keys once, when they are remembered: [B, S, Ck] -> [B, H, S, D]."""
        return split_heads(mapped(self, self.key_map, key, "keys"), self.num_heads)

    @abc.abstractmethod
    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        """e_ts for every pair: queries [B, H, T, D] against `memory.key` [B, H, S, D] -> [B, H, T, S]."""

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        """Energy, softmax and weighted sum in one: the place for a fused path."""
        return softmax_attention(self.energy(query, memory, state), memory.value, memory.mask, dropout=dropout)

    def start(self, memory: Memory) -> Past:
        """State of the score before the first query."""
        return ()

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        """State after a query that was answered with `weights` [B, H, 1, S]."""
        return past
