"""Class weights: how much each class counts in training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.fields.labels import Labels
from regard.data.problems import DataError
from regard.evaluate.texts import unknown
from regard.memo import Memo


@dataclass(frozen=True)
class ClassWeights(Memo):
    """A factor per class, in the order of the labels: the training loss of an example is multiplied by its class's.

    >>> ClassWeights.balanced(np.array([6, 2])).factors             # N / (C n_c): their mean over the examples is 1
    (0.667, 2.0)
    """

    factors: tuple[float, ...]

    @staticmethod
    def balanced(counts: NDArray[np.int64]) -> ClassWeights:
        """Return weights N / (C n_c) by which all classes count alike; 1 for a class without examples.

        Args:
            counts: [C], how many examples to learn from each class has.
        """
        present = int((counts > 0).sum())
        return ClassWeights(tuple(float(counts.sum() / (present * count)) if count else 1.0 for count in counts))

    @staticmethod
    def named(weights: Mapping[str, float], labels: Labels) -> ClassWeights:
        """Return weights by label; 1 for labels without one.

        Raises:
            DataError: a label that the data do not have.
        """
        for name in weights:
            if name not in labels.names:
                raise DataError(str(unknown("train.class_weights", "label", name, labels.names)))
        return ClassWeights(tuple(float(weights.get(name, 1.0)) for name in labels.names))

    def on(self, device: torch.device) -> Tensor:
        """Return the factors [C] on a device, copied there once: a CUDA graph must not record the copy."""
        return self.once(device, lambda given: torch.tensor(given.factors, device=device))
