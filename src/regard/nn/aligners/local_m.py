"""The local-m aligner."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import State
from regard.ops.local_m import local_m_weights


class LocalM(Aligner):
    """Luong's monotonic local attention: query number t attends to the keys t - D to t + D.

    The number of a query is `state.step` and on, so reading step by step is reading all at once. It assumes that
    both sequences run in the same direction at about the same pace; a *reversed* source is the wrong end. Once t is
    more than D past the last key nothing is in the window and the context is zero; with `hold` the window stays at the
    last key, as in the authors' code.

    Args:
        window: D, keys on either side; the paper's is 10.
        hold: whether the window stays at the last key of a sequence once t is past it.

    No parameters. Luong, Pham & Manning 2015, section 3.2; see `regard.ops.local_m_weights`.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> out = Attention(Dot(), LocalM(window=1))(torch.randn(1, 5, 3), torch.randn(1, 7, 3))
    >>> (out.weights() > 0).sum(-1)
    tensor([[2, 3, 3, 3, 3]])
    """

    def __init__(self, window: int = 10, *, hold: bool = False) -> None:
        super().__init__()
        if window < 0:
            raise ValueError(f"LocalM: window is how many keys on either side, 0 or more; got {window}")
        self.window = window
        self.hold = hold

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: State) -> Aligned:
        return Aligned(local_m_weights(energy, memory.mask, window=self.window, step=state.step, hold=self.hold))

    def extra_repr(self) -> str:
        return f"window={self.window}" + ", hold=True" * self.hold
