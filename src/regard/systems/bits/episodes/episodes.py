"""Batch of episodes: input vectors, target bits and the mask of the output steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from regard.data.batching.batch import Batch

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Episodes:
    """Batch of B episodes of T steps: inputs, targets and the mask of the steps that enter the loss.

    Attributes:
        inputs: [B, T, I].
        targets: [B, T, O], zeros and ones; ignored where `asked` is False.
        asked: [B, T], True at steps whose targets enter the loss.
    """

    inputs: Floats
    targets: Floats
    asked: NDArray[np.bool_]

    @classmethod
    def of(cls, inputs: Floats, answers: Floats, asked: NDArray[np.bool_]) -> Episodes:
        """Build episodes that all have their targets at the same steps.

        Args:
            inputs: [B, T, I].
            answers: [B, K, O], targets at the K steps where `asked` is True.
            asked: [T].
        """
        targets = np.zeros((*inputs.shape[:2], answers.shape[2]), np.float32)
        targets[:, asked] = answers
        return cls(inputs, targets, np.broadcast_to(asked, inputs.shape[:2]))

    @property
    def bits(self) -> int:
        """Total number of target bits."""
        return int(self.asked.sum() * self.targets.shape[2])

    def batch(self, first: int, rank: int = 0, world: int = 1) -> Batch:
        """Return a batch with tensors `inputs`, `targets` and `asked`, restricted to the rows of one process.

        Args:
            first: index of the first episode in the split.
            rank, world: process `rank` of `world` gets every `world`-th row, starting at row `rank`.
        """
        import torch  # imported late: recipes are checked without PyTorch

        from regard.data.batching.batch import Batch

        mine = slice(rank, None, world)
        rows = Episodes(self.inputs[mine], self.targets[mine], self.asked[mine])
        tensors = {name: torch.from_numpy(np.array(getattr(rows, name))) for name in _PARTS}
        return Batch(tensors, tuple(range(first, first + len(self.inputs))[mine]), rows.bits)


_PARTS = ("inputs", "targets", "asked")
