"""The history term."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.arguments import Count, Size, checked
from regard.nn.memory import Memory
from regard.nn.terms.base import RecurrentTerm
from regard.ops.history_term import history_features
from regard.ops.softmax import statistics_dtype


class History(RecurrentTerm):
    r"""Past alignments remembered by a recurrent network: m_{j,i} = GRU([α_{j-1,i-k}, ..., α_{j-1,i+k}], m_{j-1,i}).

    The same small GRU runs at every key and in every head, each with a state of its own; the state is the feature.
    It remembers the states [B, H, S, F]; before the first query they are 0.

    Args:
        hidden_dim: width F of the state.
        reach: number k of neighbours on each side that the network reads.

    Parameters: `input_weight` W [3F, 2k + 1], `state_weight` U [3F, F]; no biases. The score owns the matrix that
    maps the F features.

    See `regard.ops.history_features`.

    >>> from regard.nn import Additive
    >>> Additive(query_dim=3, key_dim=5, hidden_dim=7, terms=[History(hidden_dim=2)]).term_weight.shape
    torch.Size([1, 7, 2])
    """

    @checked()
    def __init__(self, hidden_dim: Size = 8, *, reach: Count = 1) -> None:
        super().__init__()
        self.reach = reach
        self.width = hidden_dim
        self.input_weight = nn.Parameter(torch.empty(3 * hidden_dim, 2 * reach + 1))
        self.state_weight = nn.Parameter(torch.empty(3 * hidden_dim, hidden_dim))
        for weight in (self.input_weight, self.state_weight):
            nn.init.uniform_(weight, -(hidden_dim**-0.5), hidden_dim**-0.5)

    def nothing(self, memory: Memory) -> Tensor:
        """The states before the first query: [B, H, S, F], all 0."""
        batch, heads, size, _ = memory.key.shape
        return memory.key.new_zeros(batch, heads, size, self.width, dtype=statistics_dtype(memory.key.dtype))

    def features(self, past: Tensor) -> Tensor:
        return past.unsqueeze(2)

    def update(self, past: Tensor, weights: Tensor) -> Tensor:
        return history_features(weights, past, self.input_weight, self.state_weight)

    def extra_repr(self) -> str:
        return f"hidden_dim={self.width}, reach={self.reach}"
