"""Base class of aligners: from energies to weights."""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past
from regard.ops.hard import Sample


class Aligned(NamedTuple):
    """Weights [B, H, T, S], state of the aligner, and the sample of hard attention."""

    weights: Tensor
    past: Past = ()
    sample: Sample | None = None


class Aligner(nn.Module, abc.ABC):
    """Aligner: weights a = align(e). Applies the mask of the memory; fully masked rows get zero weights."""

    registered_as: ClassVar[str] = "aligner"
    """The kind under which `regard.register` names it."""
    recurrent: bool = False
    """True if weights depend on the weights of the query before, so that queries must be read one by one."""

    @abc.abstractmethod
    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        """Align.

        Args:
            energy: [B, H, T, S].
            query: [B, T, Cq], as passed to the attention module.
            memory: the memory, with `memory.mask` and true lengths `memory.lengths`.
            state: `state.step` is the number of the first query, `state.align` the result of `start` or the last call.
        """

    def centres(self, query: Tensor, memory: Memory, state: AttentionState) -> Tensor | None:
        """Return the place p_t among the keys around which each query reads, [B, H, T]; None without such a place.

        Args: those of `forward`.
        """
        return None

    def start(self, memory: Memory) -> Past:
        """Return the state of the aligner before the first query."""
        return ()
