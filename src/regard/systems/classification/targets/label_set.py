"""Any number of labels per text."""

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
"""The threshold that was not tuned: a label that is more likely than not."""


@dataclass(frozen=True)
class LabelSetTarget(Target):
    r"""Any number of labels per text, each by a sigmoid of its own: the answer is all labels from a threshold on.

    .. math:: -\log p(Y \mid x) = \sum_k \mathrm{BCE}(\sigma(z_k), [k \in Y])

    Attributes:
        labels: all of them; the threshold among them is the one that was tuned.
        separator: what stands between two labels of a written answer.
        threshold: the probability from which on a label is part of the answer; None for the one that was tuned.
    """

    measured_in: ClassVar[str] = "nats a text, all labels together"
    single: ClassVar[str | None] = "all labels above the threshold are one answer"

    labels: LabelSets
    separator: str = ","
    threshold: float | None = EVEN

    def loss(
        self, logits: Tensor, wanted: Tensor, *, smoothing: float = 0.0, weights: ClassWeights | None = None
    ) -> tuple[Tensor, Tensor]:
        """A weight is that of the texts which have the label; those without it count once."""
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
        return F.logsigmoid(each).logsumexp(0) - F.logsigmoid(-each).logsumexp(0)  # log p̄ / (1 - p̄)

    def unigram_loss(self, corpus: Corpus, field: str) -> float:
        """Return the entropy of the labels, each by its frequency."""
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
        """Return the labels with the threshold that has the best micro F1; None where the threshold is fixed."""
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
        """Ids [B, N], padded, as [B, C]: 1 for the labels of a text, 0 for the others."""
        count = self.labels.size
        places = wanted.masked_fill(wanted == IGNORE, count)  # a column for padding, which is cut off again
        present = wanted.new_zeros((len(wanted), count + 1), dtype=torch.float32)
        return present.scatter(1, places, 1.0)[:, :count]


def best_threshold(chances: NDArray[np.float64], true: NDArray[np.bool_]) -> float:
    """Return the threshold of the best micro F1, half-way between two probabilities; of equals that nearest to 0.5.

    Args:
        chances: [N, C], the probability of each label of each text.
        true: [N, C], the labels that are right.

    >>> best_threshold(np.array([[0.9, 0.3], [0.4, 0.2]]), np.array([[True, True], [True, False]]))
    0.25
    """
    order = np.argsort(-chances, axis=None, kind="stable")
    ranked, right = chances.reshape(-1)[order], true.reshape(-1)[order]
    claimed = np.arange(1, len(ranked) + 1)
    f1 = 2 * np.cumsum(right) / (claimed + max(int(right.sum()), 1))  # with the so many likeliest claimed
    following = np.append(ranked[1:], 0.0)
    f1[ranked == following] = -1.0  # equal probabilities cannot be parted
    middle = (ranked + following) / 2
    best = np.flatnonzero(f1 >= f1.max() - 1e-12)
    return float(middle[best[np.argmin(np.abs(middle[best] - EVEN))]])
