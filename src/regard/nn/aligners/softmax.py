"""Aligners without parameters: softmax, softmax over a memory with empty slots, and energies as they are."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import AttentionState
from regard.ops.linear import linear_weights
from regard.ops.memory_hops import slot_softmax
from regard.ops.softmax import masked_softmax


class Softmax(Aligner):
    """Global soft attention: weights over everything that may be attended, summing to one. See `ops.masked_softmax`."""

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        return Aligned(masked_softmax(energy, memory.mask))


class SlotSoftmax(Aligner):
    """Softmax over a memory of `size` slots, where unused slots hold zero vectors. See `ops.slot_softmax`.

    Args:
        size: M.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> Attention(Dot(), SlotSoftmax(4))(torch.zeros(1, 1, 2), torch.ones(1, 3, 2)).weights()
    tensor([[[0.2500, 0.2500, 0.2500]]])
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        return Aligned(slot_softmax(energy, self.size, memory.mask))


class LinearAligner(Aligner):
    """Energies as weights, zero at masked keys: a = e. No parameters. See `ops.linear_weights`.

    The "linear start" of memory networks: Sukhbaatar et al. 2015, section 4.2.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> row = torch.tensor([[[1.0, 2.0]]])
    >>> Attention(Dot(), LinearAligner())(row, torch.cat((row, -row), 1)).weights()     # 1 + 4, and its negative
    tensor([[[ 5., -5.]]])
    """

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        return Aligned(linear_weights(energy, memory.mask))
