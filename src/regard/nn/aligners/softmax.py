"""The softmax aligner."""

from __future__ import annotations

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.memory import Memory
from regard.nn.state import State
from regard.ops.softmax import masked_softmax


class Softmax(Aligner):
    """Global soft attention: weights over everything that may be attended, summing to one. See `ops.masked_softmax`."""

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: State) -> Aligned:
        return Aligned(masked_softmax(energy, memory.mask))
