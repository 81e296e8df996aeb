"""Target with any number of labels per text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from regard.data.batching.corpus import Corpus
from regard.data.example import Value
from regard.data.fields.label_sets import LabelSets
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.label_sets import label_set_counts
from regard.evaluate.texts import References
from regard.ops.softmax import statistics_dtype
from regard.specials import IGNORE
from regard.systems.classification.targets.target import Target, TargetAnswer, TargetPredictions
from regard.tasks.class_weights import ClassWeights

EVEN = 0.5
"""Default threshold of the probability of a label."""


@dataclass(frozen=True)
class LabelSetTarget(Target):
    r"""Target with any number of labels per text, each predicted by a sigmoid and compared with a threshold.

    .. math:: -\log p(Y \mid x) = \sum_k \mathrm{BCE}(\sigma(z_k), [k \in Y])

    Attributes:
        labels: all labels, with the tuned threshold.
        separator: separator of the labels in a written answer.
        threshold: smallest probability of a predicted label; None for the tuned threshold.
    """

    measured_in: ClassVar[str] = "nats a text, all labels together"
    single: ClassVar[str | None] = "all labels above the threshold are one answer"

    labels: LabelSets
    separator: str = ","
    threshold: float | None = EVEN

    def loss(
        self, logits: Tensor, wanted: Tensor, *, smoothing: float = 0.0, weights: ClassWeights | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute the loss; class weights apply to positive examples of a label, negative ones have weight 1."""
        logits = logits.to(statistics_dtype(logits.dtype))
        present = self._present(wanted).to(logits.dtype)  # [B, C]
        plain = F.binary_cross_entropy_with_logits(logits, present, reduction="sum")
        if not smoothing and weights is None:
            return plain, plain.detach()
        smooth = present * (1 - smoothing) + smoothing / 2
        factors = None if weights is None else weights.on(logits.device)
        total = F.binary_cross_entropy_with_logits(logits, smooth, pos_weight=factors, reduction="sum")
        return total, plain.detach()

    def answers(self, logits: Tensor, n_best: int) -> list[list[TargetAnswer]]:
        chances = logits.to(statistics_dtype(logits.dtype)).sigmoid()  # [B, C]
        return [[self._answer(row)] for row in chances.tolist()]

    def written(self, value: Value) -> str:
        assert isinstance(value, list)
        return self.separator.join(value)

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Return the logits of the mean probability of each label."""
        each = torch.stack([one.to(statistics_dtype(one.dtype)) for one in logits])
        # log p̄ / (1 - p̄) in the log domain, because p̄ itself may round to 0 or 1.
        return F.logsigmoid(each).logsumexp(0) - F.logsigmoid(-each).logsumexp(0)

    def unigram_loss(self, corpus: Corpus, field: str) -> float:
        """Return the summed entropy of the labels, from their frequencies."""
        ids = corpus.ids(field)
        shares = np.bincount(ids[ids != IGNORE], minlength=self.labels.size) / max(len(corpus), 1)
        rest = 1 - shares
        return float(-sum((part[part > 0] * np.log(part[part > 0])).sum() for part in (shares, rest)))

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores:
        """Return precision, recall and F1 of each label."""
        names, rows = label_set_counts("classes", texts, references, separator=self.separator)
        counts = rows.sum(0).reshape(-1, 3)
        return ClassScores(names, counts, int(counts[:, 2].sum()))

    def tuned(self, answered: Callable[[], TargetPredictions]) -> LabelSets | None:
        """Return the labels with the threshold of the best micro F1; None if the threshold is fixed."""
        if self.threshold is not None:
            return None
        scores, wanted = answered()
        chances = np.array([[row[name] for name in self.labels.names] for row in scores])
        true = np.array([[name in value for name in self.labels.names] for value in wanted])
        return replace(self.labels, threshold=best_threshold(chances, true))

    def _answer(self, chances: Sequence[float]) -> TargetAnswer:
        threshold = self.threshold if self.threshold is not None else self.labels.threshold
        threshold = EVEN if threshold is None else threshold
        named = tuple(name for name, chance in zip(self.labels.names, chances, strict=True) if chance >= threshold)
        sure = [chance if chance >= threshold else 1 - chance for chance in chances]
        score = float(np.log(np.maximum(sure, np.finfo(np.float64).tiny)).sum())
        return TargetAnswer(
            self.separator.join(named), score, (score,), named, dict(zip(self.labels.names, chances, strict=True))
        )

    def _present(self, wanted: Tensor) -> Tensor:
        """Convert padded label ids [B, N] to multi-hot rows [B, C]."""
        count = self.labels.size
        places = wanted.masked_fill(wanted == IGNORE, count)  # an extra column for padding, removed below
        present = wanted.new_zeros((len(wanted), count + 1), dtype=torch.float32)
        return present.scatter(1, places, 1.0)[:, :count]


def best_threshold(chances: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """Return the threshold of the best micro F1, half-way between two probabilities; ties go to the nearest to 0.5.

    Args:
        chances: [N, C], probability of each label of each text.
        true: [N, C], True for the correct labels.

    >>> best_threshold(np.array([[0.9, 0.3], [0.4, 0.2]]), np.array([[True, True], [True, False]]))
    0.25
    """
    order = np.argsort(-chances, axis=None, kind="stable")
    ranked, right = chances.reshape(-1)[order], true.reshape(-1)[order]
    claimed = np.arange(1, len(ranked) + 1)
    f1 = (
        2 * np.cumsum(right) / (claimed + max(int(right.sum()), 1))
    )  # F1 if the k most probable labels are predicted, for each k
    following = np.append(ranked[1:], 0.0)
    f1[ranked == following] = -1.0  # no threshold can separate equal probabilities
    middle = (ranked + following) / 2
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    return float(middle[best[np.argmin(np.abs(middle[best] - EVEN))]])
