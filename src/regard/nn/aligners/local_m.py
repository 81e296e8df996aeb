"""The local-m aligner."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.arguments import Count, checked
from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import AttentionState
from regard.ops.local_m import local_m_weights


class LocalM(Aligner):
    """Luong's monotonic local attention: query number t attends to the keys t - D to t + D.

    Queries are numbered from `state.step`, so step-by-step and parallel reads agree. The method assumes that both
    sequences are monotonically aligned; with a *reversed* source the window is at the wrong end. Once t is more than D
    beyond the last key, the window is empty and the context zero; with `hold` the window stays at the last key, as in
    the authors' code.

    Args:
        window: number D of keys on either side; 10 in the paper.
        hold: keep the window at the last key of a sequence once t is past it, as in the authors' code.

    No parameters. Luong, Pham & Manning 2015, section 3.2; see `regard.ops.local_m_weights`.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> out = Attention(Dot(), LocalM(window=1))(torch.randn(1, 5, 3), torch.randn(1, 7, 3))
    >>> (out.weights() > 0).sum(-1)
    tensor([[2, 3, 3, 3, 3]])
    """

    @checked()
    def __init__(self, window: Count = 10, *, hold: bool = False) -> None:
        super().__init__()
        self.window = window
        self.hold = hold

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        return Aligned(local_m_weights(energy, memory.mask, window=self.window, step=state.step, hold=self.hold))

    def centres(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor:
        """Return the numbers of the queries, [B, 1, T]; with `hold` at most that of the last key."""
        numbers = torch.arange(state.step, state.step + query.shape[1], device=query.device).expand(len(query), -1)
        if self.hold:
            numbers = torch.minimum(numbers, memory.lengths.unsqueeze(1) - 1)
        return numbers.unsqueeze(1)  # [B, 1, T]

    def extra_repr(self) -> str:
        return f"window={self.window}" + ", hold=True" * self.hold
