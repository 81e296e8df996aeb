"""State of a recurrent decoder."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.nn.memory import Memory
from regard.nn.rnn import RecurrentState
from regard.nn.shared_memory import SharedMemory
from regard.nn.state import AttentionState


@dataclass(frozen=True)
class DecoderState:
    """All that a recurrent decoder's next step needs. A value: passed in and returned.

    Attributes:
        layers: its recurrent layers.
        memory: the source, its keys projected once, its own for each sequence or shared; None without attention.
        read: where reading it stands; None without attention.
        carried: [B, C], a vector that goes from step to step: the context, or Luong's attentional vector.
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
        """The memory of a decoder whose sequences have their own."""
        assert isinstance(self.memory, Memory)
        return self.memory

    @property
    def shared(self) -> SharedMemory:
        """The memory of a decoder whose sequences share it."""
        assert isinstance(self.memory, SharedMemory)
        return self.memory
