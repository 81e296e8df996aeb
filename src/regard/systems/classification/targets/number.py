"""Target with a number per text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from regard.data.batching.corpus import Corpus
from regard.data.fields.numbers import Numbers
from regard.ops.softmax import statistics_dtype
from regard.systems.classification.targets.target import Target, TargetAnswer
from regard.tasks.class_weights import ClassWeights


@dataclass(frozen=True)
class NumberTarget(Target):
    r"""Regression target, standardized by the mean and deviation of the training data.

    .. math:: \sum_i \left(f(x_i) - \frac{y_i - \mu}{\sigma}\right)^2

    Attributes:
        numbers: mean μ and standard deviation σ of the training data.
    """

    measured_in: ClassVar[str] = "squared deviations; always the mean of the training data has 1 there"
    loss_unit: ClassVar[str] = "σ² of train"
    single: ClassVar[str | None] = "a number is one answer"

    numbers: Numbers

    def loss(
        self, logits: Tensor, wanted: Tensor, *, smoothing: float = 0.0, weights: ClassWeights | None = None
    ) -> tuple[Tensor, Tensor]:
        each = (logits.to(statistics_dtype(logits.dtype)).squeeze(1) - wanted).square()
        total = each.sum()
        return total, total.detach()

    def answers(self, logits: Tensor, n_best: int) -> list[list[TargetAnswer]]:
        values = logits.squeeze(1).double().tolist()
        return [[TargetAnswer(text, float(text))] for text in self.numbers.decode(values)]

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Return the mean of the numbers."""
        return torch.stack(tuple(logits)).mean(0)

    def unigram_loss(self, corpus: Corpus, field: str) -> float:
        """Return the loss of predicting the mean."""
        values = corpus.ids(field)
        return float((values.astype(float) ** 2).mean())

    @property
    def constant(self) -> str:
        """Return the mean of the training data as text."""
        return self.numbers.decode([0.0])[0]
