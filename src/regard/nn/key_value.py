"""Key-value attention over any attention module."""

from __future__ import annotations

from torch import Tensor, nn

from regard.masks import Mask
from regard.nn.attention_module import AttentionModule
from regard.nn.memory import Memory
from regard.nn.state import AttentionState
from regard.ops.attended import Attended
from regard.ops.key_value import split_key_value


class KeyValue(nn.Module):
    """Attention to a memory whose vectors are a key and a value, concatenated: v = [v_k; v_v].

        e_ts = score(q_t, v_k,s)      a_t = align(e_t)      c_t = sum_s a_ts v_v,s

    Captures hook the wrapped attention module.

    Args:
        attention: `Attention` or `MultiHead`, for keys of width `key_dim` and values of the remaining width.
        key_dim: number of leading channels that are the key.

    Shapes: query [B, T, Cq], memory [B, S, C] -> context [B, T, C - key_dim] (or the width of the wrapped module).

    Daniluk et al. 2017, section 2.2; see `regard.ops.split_key_value`. The paper's query is the key half of the
    current state, and it concatenates the context with the current value half: both are left to the caller.

    >>> import torch
    >>> from regard.nn import Additive, Attention
    >>> attention = KeyValue(Attention(Additive(query_dim=3, key_dim=4, hidden_dim=5)), key_dim=4)
    >>> attention(torch.randn(2, 7, 3), torch.randn(2, 11, 10)).context.shape
    torch.Size([2, 7, 6])
    """

    def __init__(self, attention: AttentionModule, key_dim: int) -> None:
        super().__init__()
        self.attention = attention
        self.key_dim = key_dim

    def forward(self, query: Tensor, memory: Tensor, mask: Mask | None = None) -> Attended:
        """Read with all queries in parallel: query [B, T, Cq], memory [B, S, C]; `mask` None for no mask."""
        return self.read(query, self.remember(memory, mask))

    def remember(self, memory: Tensor, mask: Mask | None = None) -> Memory:
        """Split and project a memory [B, S, C] once for repeated reads."""
        return self.attention.remember(*split_key_value(memory, self.key_dim), mask)

    def start(self, memory: Memory) -> AttentionState:
        """Return the state before the first query."""
        return self.attention.start(memory)

    def read(self, query: Tensor, memory: Memory, state: AttentionState | None = None) -> Attended:
        """Read `memory` with queries [B, T, Cq]; pass `state` of the result to the next read."""
        return self.attention.read(query, memory, state)

    def extra_repr(self) -> str:
        return f"key_dim={self.key_dim}"
