"""Base class of targets, with their loss and their answers."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from torch import Tensor

from regard.data.batching.corpus import Corpus
from regard.data.example import Value
from regard.data.fields.labels import Labels
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.texts import References
from regard.tasks.class_weights import ClassWeights
from regard.tasks.input_output import mean_log_probs


class TargetAnswer(NamedTuple):
    """One answer to one text.

    Attributes:
        text: answer as text.
        score: score for ranking; for a number, the number itself.
        log_probs: log-probabilities of the answer; empty if it has none.
        labels: predicted labels; None if a target is not a set of labels.
        scores: probability of every label, by name; None if a target is not a set of labels.
    """

    text: str
    score: float
    log_probs: tuple[float, ...] = ()
    labels: tuple[str, ...] | None = None
    scores: Mapping[str, float] | None = None


class TargetPredictions(NamedTuple):
    """Predicted probabilities of a model on some data, and the true targets."""

    scores: Sequence[Mapping[str, float]]
    wanted: Sequence[Value]


class Target(abc.ABC):
    """Base class of kinds of target: loss, answers and the loss of a constant prediction.

    Attributes:
        measured_in: unit of the loss, in words.
        loss_unit: short unit of the loss, for tables.
        single: reason why there is only one answer, in words; None if answers are ranked.
    """

    measured_in: ClassVar[str]
    loss_unit: ClassVar[str] = "nats"
    single: ClassVar[str | None] = None

    @abc.abstractmethod
    def loss(
        self, logits: Tensor, wanted: Tensor, *, smoothing: float = 0.0, weights: ClassWeights | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the loss that is minimised, and the plain one without gradient; both summed over the batch.

        Args:
            logits: [B, size], outputs of the model.
            wanted: targets of the batch.
            smoothing: label smoothing.
            weights: class weights in the first loss.
        """

    def count(self, wanted: Tensor) -> int:
        """Return the number of targets in a batch. Synchronizes with the device, so training does not call it."""
        return len(wanted)

    @abc.abstractmethod
    def answers(self, logits: Tensor, n_best: int) -> list[list[TargetAnswer]]:
        """Return the best answers to each row of logits [B, size], best first."""

    def written(self, value: Value) -> str:
        """Return a true answer in the text format of `answers`."""
        return value if isinstance(value, str) else " ".join(value)

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Combine the logits of several models."""
        return mean_log_probs(logits)

    def unigram_loss(self, corpus: Corpus, field: str) -> float | None:
        """Return the loss of a prediction that ignores its input; None for the entropy of the ids."""
        return None

    @property
    def constant(self) -> str | None:
        """Return the constant answer that errors are compared with; None if there is none."""
        return None

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        """Return scores per class if an answer can contain several labels; None otherwise."""
        return None

    def tuned(self, answered: Callable[[], TargetPredictions]) -> Labels | None:
        """Return the encoder with settings tuned on the validation data; None if there is nothing to tune.

        Args:
            answered: function that computes the predictions of the trained model on the validation data.
        """
        return None
