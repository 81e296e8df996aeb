"""State of a reader between two reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

Past = tuple["Tensor | Past", ...]
"""State of a part: tensors whose first dimension is the batch, in nested tuples."""


@dataclass(frozen=True, eq=False)
class AttentionState:
    """State of a reader: the number of queries it has answered, and the states of its parts.

    A value that is passed in and returned; nothing is kept on a module. `select` reorders it with a beam.

    Attributes:
        step: queries answered so far, the same for all sequences of the batch.
        score: what the score remembers (past alignments, for the terms of an additive score).
        align: what the aligner remembers (the last weights, for NTM addressing).
    """

    step: int = 0
    score: Past = field(default=())
    align: Past = field(default=())

    def select(self, rows: Tensor) -> AttentionState:
        """Keep, repeat or reorder the sequences of the batch; `rows`: [B'] indices."""
        return AttentionState(self.step, select_past(self.score, rows), select_past(self.align, rows))


def select_past(past: Past, rows: Tensor) -> Past:
    """`AttentionState.select` for one part's memory."""
    return tuple(part.index_select(0, rows) if isinstance(part, Tensor) else select_past(part, rows) for part in past)
