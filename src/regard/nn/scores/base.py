"""Base class of scores: energies of query and key."""

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
    """Score: energies e_ts = score(query_t, key_s).

    A subclass only has to define `energy`; masks, heads, step-by-step reads, captures and all aligners work with it.
    `queries` and `keys` hold the computation per vector (projections, splitting of heads), so that `energy` only
    computes pairs. A score with a fused implementation overrides `attend` as well.

    With `hidden_dim`, linear layers first map query and key to `num_heads` vectors of that width; without it both are
    split among the heads.

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

    inner_product: bool = False
    """True if energies are inner products of what `queries` and `keys` give, times a factor."""

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
        """Map keys once, in `remember`: [B, S, Ck] -> [B, H, S, D]."""
        return split_heads(mapped(self, self.key_map, key, "keys"), self.num_heads)

    @abc.abstractmethod
    def energy(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        """Compute e_ts of all pairs: queries [B, H, T, D], `memory.key` [B, H, S, D] -> [B, H, T, S]."""

    def attend(
        self, query: Tensor, memory: Memory, state: AttentionState, *, dropout: float, impl: str | None
    ) -> Attended:
        """Energy, softmax and weighted sum; overridden by fused implementations."""
        return softmax_attention(self.energy(query, memory, state), memory.value, memory.mask, dropout=dropout)

    def start(self, memory: Memory) -> Past:
        """Return the state of the score before the first query."""
        return ()

    def advance(self, past: Past, weights: Tensor, memory: Memory) -> Past:
        """Return the state after a query with `weights` [B, H, 1, S]."""
        return past
