"""State of recurrent decoders with attention."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.rnn import RecurrentState
from regard.nn.shared_memory import SharedMemory
from regard.nn.state import AttentionState


@dataclass(frozen=True)
class DecoderState:
    """Immutable state of a recurrent decoder between two steps.

    Attributes:
        layers: state of the recurrent layers.
        memory: the source with projected keys, per sequence or shared by hypotheses; None without attention.
        read: state of the attention; None without attention.
        carried: [B, C], vector fed to the next step: the context, or Luong's attentional vector.
    """

    layers: RecurrentState
    memory: Memory | SharedMemory | None = None
    read: AttentionState | None = None
    carried: Tensor | None = None

    def select(self, rows: Tensor) -> DecoderState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return DecoderState(
            self.layers.select(rows),
            None if self.memory is None else self.memory.select(rows),
            None if self.read is None else self.read.select(rows),
            None if self.carried is None else self.carried.index_select(0, rows),
        )

    @property
    def source(self) -> Memory:
        """Memory with one row per sequence."""
        assert isinstance(self.memory, Memory)
        return self.memory

    @property
    def shared(self) -> SharedMemory:
        """Memory shared by the hypotheses of a beam."""
        assert isinstance(self.memory, SharedMemory)
        return self.memory
