"""Override of the attention weights that a module computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor

from regard.nn.aligners.base import Aligned, Aligner
from regard.nn.attention_module import AttentionModule
from regard.nn.memory import Memory
from regard.nn.state import AttentionState, Past


class ChangedWeights(Aligner):
    """Aligner that applies a function to the weights of another aligner.

    Args:
        aligner: the wrapped aligner.
        change: maps weights [B, H, T, S] to weights of the same shape.
    """

    def __init__(self, aligner: Aligner, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.aligner, self.change, self.recurrent = aligner, change, aligner.recurrent

    def forward(self, energy: Tensor, query: Tensor, memory: Memory, state: AttentionState) -> Aligned:
        """Compute the alignment and replace its weights."""
        aligned = self.aligner(energy, query, memory, state)
        return aligned._replace(weights=self.change(aligned.weights))  # type: ignore[no-any-return]

    def start(self, memory: Memory) -> Past:
        """Return the initial state of the wrapped aligner."""
        return self.aligner.start(memory)


def same_weights(weights: Tensor) -> Tensor:
    """Return weights as they are."""
    return weights


@contextmanager
def changed_weights(reader: AttentionModule, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Replace the weights of an attention module inside the context.

    Args:
        reader: any `regard.nn.Attention` or `regard.nn.MultiHead`; fused kernels are disabled.
        change: maps weights [B, H, T, S] to weights of the same shape, for instance detached ones.

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
