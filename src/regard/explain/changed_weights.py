"""Other weights in the place of those that a reader computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.attention_module import AttentionModule
from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past


class ChangedWeights(Aligner):
    """An aligner whose weights are a function of another aligner's.

    Args:
        aligner: the other one.
        change: its weights [B, H, T, S] -> weights of the same shape.
    """

    def __init__(self, aligner: Aligner, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.aligner, self.change, self.recurrent = aligner, change, aligner.recurrent

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        """Align, and change the weights."""
        aligned = self.aligner(energy, query, memory, state)
        return aligned._replace(weights=self.change(aligned.weights))  # type: ignore[no-any-return]

    def start(self, memory: Memory) -> Past:
        """State of the other aligner."""
        return self.aligner.start(memory)


def same_weights(weights: Tensor) -> Tensor:
    """Return weights as they are."""
    return weights


@contextmanager
def changed_weights(reader: AttentionModule, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let a reader read by changed weights.

    Args:
        reader: any `regard.nn.Attention` or `regard.nn.MultiHead`; a fused read becomes a plain one.
        change: its weights [B, H, T, S] -> weights of the same shape: others, or the same detached.

    >>> import torch
    >>> from regard.nn import Attention, Dot
    >>> reader, states = Attention(Dot()), torch.eye(3).unsqueeze(0)
    >>> with changed_weights(reader, lambda weights: torch.full_like(weights, 0.5)):
    ...     print(reader(states).context[0, 0])
    tensor([0.5000, 0.5000, 0.5000])
    """
    before = reader.align
    reader.align = ChangedWeights(before, change)
    try:
        yield
    finally:
        reader.align = before
