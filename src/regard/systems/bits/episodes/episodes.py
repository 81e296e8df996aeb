"""Sequences of vectors side by side, and the bits that they ask for."""

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
    """B episodes of T steps: inputs, targets, and the steps at which targets count.

    Attributes:
        inputs: [B, T, I].
        targets: [B, T, O], zeros and ones; whatever they are where nothing is asked, they do not count.
        asked: [B, T], True where the targets count.
    """

    inputs: Floats
    targets: Floats
    asked: NDArray[np.bool_]

    @classmethod
    def of(cls, inputs: Floats, answers: Floats, asked: NDArray[np.bool_]) -> Episodes:
        """Return episodes that are asked at the same steps.

        Args:
            inputs: [B, T, I].
            answers: [B, K, O], the targets of the K steps that count.
            asked: [T].
        """
        targets = np.zeros((*inputs.shape[:2], answers.shape[2]), np.float32)
        targets[:, asked] = answers
        return cls(inputs, targets, np.broadcast_to(asked, inputs.shape[:2]))

    @property
    def bits(self) -> int:
        """Number of target bits in all."""
        return int(self.asked.sum() * self.targets.shape[2])

    def batch(self, first: int, rank: int = 0, world: int = 1) -> Batch:
        """Return tensors `inputs`, `targets`, `asked`; of several processes the rows of one.

        Args:
            first: the number of the first episode.
            rank, world: process `rank` of `world` has every `world`-th row.
        """
        import torch  # a recipe's rule is checked without it

        from regard.data.batching.batch import Batch

        mine = slice(rank, None, world)
        rows = Episodes(self.inputs[mine], self.targets[mine], self.asked[mine])
        tensors = {name: torch.from_numpy(np.array(getattr(rows, name))) for name in _PARTS}
        return Batch(tensors, tuple(range(first, first + len(self.inputs))[mine]), rows.bits)


_PARTS = ("inputs", "targets", "asked")
