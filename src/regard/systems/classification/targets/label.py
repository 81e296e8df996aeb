"""Target with one label per text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from regard.data.fields.labels import Labels
from regard.models.model_output import log_softmax
from regard.specials import IGNORE
from regard.systems.classification.targets.target import Target, TargetAnswer
from regard.tasks.class_weights import ClassWeights
from regard.tasks.loss import token_loss


@dataclass(frozen=True)
class LabelTarget(Target):
    """Target with one label per text, predicted by a softmax; the answers are the most probable labels.

    Attributes:
        labels: all labels.
    """

    measured_in: ClassVar[str] = "nats a label"

    labels: Labels

    def loss(
        self, logits: Tensor, wanted: Tensor, *, smoothing: float = 0.0, weights: ClassWeights | None = None
    ) -> tuple[Tensor, Tensor]:
        total, nll = token_loss(logits, wanted, padding=IGNORE, smoothing=smoothing, weights=weights)
        return total, nll.detach()

    def count(self, wanted: Tensor) -> int:
        return int((wanted != IGNORE).sum())  # labels that do not occur in training are ignored

    def answers(self, logits: Tensor, n_best: int) -> list[list[TargetAnswer]]:
        ranked = log_softmax(logits).sort(dim=-1, descending=True, stable=True)
        rows = zip(ranked.values[:, :n_best].tolist(), ranked.indices[:, :n_best].tolist(), strict=True)
        return [
            [TargetAnswer(label, score, (score,)) for score, label in zip(scores, self.labels.decode(ids), strict=True)]
            for scores, ids in rows
        ]
