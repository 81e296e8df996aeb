"""Target: the loss and the answers of one form of target."""

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
        text: as it is written out.
        score: what it was ranked by; a number is its own score.
        log_probs: of the answer; empty where it has no probability.
        labels: the labels it consists of; None where there is no choice of several.
        scores: the probability of every label, by name; None likewise.
    """

    text: str
    score: float
    log_probs: tuple[float, ...] = ()
    labels: tuple[str, ...] | None = None
    scores: Mapping[str, float] | None = None


class TargetPredictions(NamedTuple):
    """The probabilities that a model gives on some data, and the true targets."""

    scores: Sequence[Mapping[str, float]]
    wanted: Sequence[Value]


class Target(abc.ABC):
    """One form of target: its loss, its answers, and the loss of an answer that looks at nothing.

    Attributes:
        measured_in: the meaning of the number of a loss, in words.
        loss_unit: the same, as short as a table has it.
        single: why there is one answer only, in words; None where answers are ranked.
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
            logits: [B, size], what a model says.
            wanted: the field of the batch.
            smoothing: of labels.
            weights: of the classes in the first loss.
        """

    def count(self, wanted: Tensor) -> int:
        """Return the number of targets in the field of a batch. Reads the device, so training does not ask."""
        return len(wanted)

    @abc.abstractmethod
    def answers(self, logits: Tensor, n_best: int) -> list[list[TargetAnswer]]:
        """Return the best answers to each row of logits [B, size], best first."""

    def written(self, value: Value) -> str:
        """Return a true answer as `answers` would write it."""
        return value if isinstance(value, str) else " ".join(value)

    def averaged(self, logits: Sequence[Tensor]) -> Tensor:
        """Return the logits of several models as those of one."""
        return mean_log_probs(logits)

    def unigram_loss(self, corpus: Corpus, field: str) -> float | None:
        """Return the loss of a prediction that ignores its input; None for the entropy of the ids."""
        return None

    @property
    def constant(self) -> str | None:
        """The answer that looks at nothing, which errors are measured beside; None where there is no such answer."""
        return None

    def class_scores(self, texts: Sequence[str], references: References) -> ClassScores | None:
        """Return the scores of classes where an answer can name several at once; None of other answers."""
        return None

    def tuned(self, answered: Callable[[], TargetPredictions]) -> Labels | None:
        """Return the encoder with whatever is tuned on the validation data; None where nothing is.

        Args:
            answered: asks the trained model.
        """
        return None
