"""The aligner of Neural Turing Machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from torch import Tensor, nn
from torch.nn import functional as F

from regard.constraints import shifts_balance
from regard.masks import Mask
from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.checks import mapped
from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past
from regard.ops.ntm_addressing import ntm_address
from regard.ops.softmax import masked_softmax, statistics_dtype

Initial = Literal["peaked", "uniform"]


class Addressing(Aligner):
    r"""Content, gate, shift, sharpen: from energies and the last weighting to the next, controlled by the query.

    .. math:: g = \sigma(W_g x), \quad s = \mathrm{softmax}(W_s x), \quad \gamma = 1 + \mathrm{softplus}(W_\gamma x)

    x is the query, the output of the controller. With the `Cosine` score this is a complete head of a Neural Turing
    Machine. Recurrent: queries are processed one by one, and the state carries w_{t-1} [B, H, 1, N].

    Args:
        query_dim: width of the controller's output.
        num_heads: how many heads, as in the score.
        shifts: K, how many offsets, odd: 3 for -1, 0, +1.
        initial: w_0. `"peaked"` is one on the first row, `"uniform"` is equal on all. Both are without
            parameters. A peaked start trains better, since shifting a uniform weighting has no effect.

    Parameters: `gate_map` W_g, `shift_map` W_s, `sharpness_map` W_γ, with biases.

    Graves, Wayne & Danihelka 2014, equations 5 to 9; see `regard.ops.ntm_address`. The paper leaves w_0 open.

    >>> import torch
    >>> from regard.nn import Attention, Cosine, MultiHead
    >>> tape, controller = torch.randn(2, 16, 5), torch.randn(2, 3, 7)
    >>> read_head = Attention(Cosine(7, 5), Addressing(7))
    >>> read_head(controller, tape).context.shape
    torch.Size([2, 3, 5])
    >>> heads = MultiHead(Cosine(7, 5, num_heads=4), Addressing(7, num_heads=4), value_dim=5)
    >>> heads(controller, tape).weights().shape
    torch.Size([2, 4, 3, 16])
    """

    recurrent = True

    def __init__(self, query_dim: int, *, num_heads: int = 1, shifts: int = 3, initial: Initial = "peaked") -> None:
        super().__init__()
        shifts_balance(shifts)
        if initial not in get_args(Initial):
            raise ValueError(f"Addressing: initial must be 'peaked' or 'uniform'; got {initial!r}")
        self.num_heads = num_heads
        self.initial = initial
        self.gate_map = nn.Linear(query_dim, num_heads)
        self.shift_map = nn.Linear(query_dim, num_heads * shifts)
        self.sharpness_map = nn.Linear(query_dim, num_heads)

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        if energy.shape[1] != self.num_heads:
            raise ValueError(f"Addressing has {self.num_heads} heads, but the score gives {energy.shape[1]}")
        knobs = mapped(self, self.gate_map, query, "queries"), self.shift_map(query), self.sharpness_map(query)
        return self.place(masked_softmax(energy, memory.mask), knobs, state, memory.mask)

    def place(
        self, content: Tensor, knobs: Sequence[Tensor], state: AttentionState, mask: Mask | None = None
    ) -> Aligned:
        """Weighting of the heads for the next step.

        Args:
            content: [B, H, T, N], w^c.
            knobs: what the maps said: of the gate [B, T, H], the shift [B, T, H K] and the sharpness [B, T, H].
            state: which has w_{t-1}.
            mask: which rows there are; None for all.
        """
        gate, shift, sharpness = knobs
        (previous,) = state.align
        assert isinstance(previous, Tensor)
        weights = ntm_address(
            content,
            previous,
            gate.sigmoid().transpose(1, 2),
            shift.view(*shift.shape[:2], self.num_heads, -1).softmax(-1).transpose(1, 2),
            1 + F.softplus(sharpness).transpose(1, 2),
            mask,
        )
        return Aligned(weights, (weights,))

    def start(self, memory: Memory) -> Past:
        """w_0 [B, H, 1, N] over the rows there are."""
        batch, heads, rows, _ = memory.key.shape
        weights = memory.key.new_ones((batch, heads, 1, rows), dtype=statistics_dtype(memory.key.dtype))
        if memory.mask is not None:
            weights = weights * memory.mask.allowed((batch, heads, 1, rows), device=weights.device)
        if self.initial == "peaked":
            return (weights * (weights.cumsum(-1) == 1),)
        return (weights / weights.sum(-1, keepdim=True).clamp(min=1),)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, initial={self.initial!r}"
