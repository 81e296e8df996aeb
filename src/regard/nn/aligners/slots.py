"""The softmax of a memory with empty slots."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import State
from regard.ops.memory_hops import slot_softmax


class Slots(Aligner):
    """Softmax over a memory of `size` slots: those that no memory fills hold nothing. See `ops.slot_softmax`.

    Args:
        size: M.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> Attention(Dot(), Slots(4))(torch.zeros(1, 1, 2), torch.ones(1, 3, 2)).weights()
    tensor([[[0.2500, 0.2500, 0.2500]]])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: State) -> Aligned:
        return Aligned(slot_softmax(energy, self.size, memory.mask))
