"""The second choice of a mechanism: how energies become weights."""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past
from regard.ops.hard import Sample


class Aligned(NamedTuple):
    """Weights [B, H, T, S], what the aligner remembers, and what it drew if it draws."""

    weights: Tensor
    past: Past = ()
    sample: Sample | None = None


class Aligner(nn.Module, abc.ABC):
    """An aligner: weights a = align(e). It applies the memory's mask and gives an empty row zero weights."""

    registered_as: ClassVar[str] = "aligner"
    """The kind under which `regard.register` names it."""
    recurrent: bool = False
    """True if weights depend on the weights of the query before, so that queries must be read one by one."""

    @abc.abstractmethod
    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        """Align.

        Args:
            energy: [B, H, T, S].
            query: [B, T, Cq], as the reader was given it.
            memory: what is read; `memory.mask` says what may be attended, `memory.lengths` the true lengths.
            state: `state.step` is the place of the first query, `state.align` what `start` or the last call gave.
        """

    def start(self, memory: Memory) -> Past:
        """State of the aligner before the first query."""
        return ()
