"""Class weights in the training loss."""

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
    """Loss weight per class, in label order: multiplies the training loss of each example of the class.

    >>> ClassWeights.balanced(np.array([6, 2])).factors             # N / (C n_c): their mean over the examples is 1
    (0.667, 2.0)
    """

    factors: tuple[float, ...]

    @staticmethod
    def balanced(counts: NDArray[np.int64]) -> ClassWeights:
        """Return weights N / (C n_c), which give each class the same total weight; 1 for a class without examples.

        Args:
            counts: [C], number of training examples per class.
        """
        present = int((counts > 0).sum())
        return ClassWeights(tuple(float(counts.sum() / (present * count)) if count else 1.0 for count in counts))

    @staticmethod
    def named(weights: Mapping[str, float], labels: Labels) -> ClassWeights:
        """Return the specified weight of each label; 1 for labels that are not specified.

        Raises:
            DataError: a label that the data do not have.
        """
        for name in weights:
            if name not in labels.names:
                raise DataError(str(unknown("train.class_weights", "label", name, labels.names)))
        return ClassWeights(tuple(float(weights.get(name, 1.0)) for name in labels.names))

    def on(self, device: torch.device) -> Tensor:
        """Return the factors [C] on a device. The copy is cached, since a CUDA graph must not capture it."""
        return self.once(device, lambda given: torch.tensor(given.factors, device=device))
