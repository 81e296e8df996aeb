"""State of an attention module between two reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Past = tuple["Tensor | Past", ...]
"""State of a part: tensors whose first dimension is the batch, in nested tuples."""


@dataclass(frozen=True, eq=False)
class AttentionState:
    """State of an attention module: number of past queries, and the states of its parts.

    A value that is passed in and returned; modules store nothing. `select` reorders it with a beam.

    Attributes:
        step: number of past queries, equal for all sequences of the batch.
        score: state of the score (past alignments, for the terms of an additive score).
        align: state of the aligner (the last weights, for NTM addressing).
    """

    step: int = 0
    score: Past = field(default=())
    align: Past = field(default=())

    def select(self, rows: Tensor) -> AttentionState:
        """Select sequences of the batch by index: `rows` [B'] may drop, repeat and reorder them."""
        return AttentionState(self.step, select_past(self.score, rows), select_past(self.align, rows))


def select_past(past: Past, rows: Tensor) -> Past:
    """Select rows of the state of one part, as `AttentionState.select` does."""
    return tuple(part.index_select(0, rows) if isinstance(part, Tensor) else select_past(part, rows) for part in past)
