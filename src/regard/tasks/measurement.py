"""Evaluation of a model on a split: loss and metrics, for validation, test and `regard evaluate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batching.feed import BatchPosition, Feed
from regard.data.problems import DataError
from regard.deferred import replaced
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion
from regard.evaluate.metric_result import MetricResult
from regard.evaluate.metrics import Hypotheses, Metric
from regard.ops.weights import Weights
from regard.recipes.sections import Recipe
from regard.tasks.nan_locator import NotFiniteError, describe_examples, locate
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import MEASURED, Task

_FLATNESS_BATCHES = 4  # number of batches for the flatness of attention, an average that needs few samples


@dataclass(frozen=True)
class Measurement:
    """Loss, metrics and predictions of a model on a split.

    Attributes:
        loss: mean negative log-likelihood of the targets with teacher forcing, in nats.
        scores: perplexity (in tasks that generate text) and metrics, by name.
        predictions: the best answer to each example; for a language model, some continuations.
        flatness: mean entropy of attention relative to a uniform distribution, 0 to 1; None without attention.
        confusion: confusion matrix of label answers; None for other answers.
        label_scores: scores per label of multi-label answers; None for other answers.
        loss_unit: unit of the loss.
    """

    loss: float
    scores: Mapping[str, MetricResult]
    predictions: tuple[Prediction, ...]
    flatness: float | None
    confusion: Confusion | None = None
    label_scores: ClassScores | None = None
    loss_unit: str = "nats"

    @property
    def classes(self) -> ClassScores | None:
        """Precision, recall and F1 per class; None if answers are not class labels."""
        return self.label_scores if self.confusion is None else self.confusion.scores()

    def values(self) -> dict[str, float]:
        """Return loss and metrics by name, as in a row of metrics.jsonl."""
        return {"loss": self.loss} | {name: score.value for name, score in self.scores.items()}


def measure(
    model: nn.Module,
    task: Task,
    split: Split,
    recipe: Recipe,
    *,
    samples: int = 0,
    engine: Any = None,
    final: bool = True,
) -> Measurement:
    """Compute the loss of a model on a split, and the metrics of its predictions.

    Args:
        model: the model; its training or evaluation mode is restored afterwards.
        task: computes losses and predictions.
        split: the evaluated data.
        recipe: defines metrics, search settings, and windows of long texts.
        samples: number of continuations of a language model.
        engine: predicts instead of the model: an `Engine`, or the quantised model; None for the model itself.
        final: also compute slow scores, which are skipped during training.

    Raises:
        NotFiniteError: the loss of a batch is not finite; the message names the module.
    """
    training = model.training
    model.eval()
    try:
        task = task.bind(model, split.examples)
        feed = task.measuring_feed(recipe, split, carries=hasattr(model, "carry"))
        total, tokens, flatness = _likelihood(model, task, feed)
        if not tokens:
            raise DataError(
                "no token of the evaluation data is in the vocabulary, so there is no loss; evaluate on data like the "
                "training data"
            )
        scores = task.likelihood_scores(split, total, tokens)
        if final:
            scores |= task.final_scores(model, split, recipe)
        if task.answer is None:
            texts = split.texts(task.question)[: samples * 7 : 7] if samples else []
            return Measurement(total / tokens, scores, tuple(task.samples(model, texts, recipe.search())), flatness)
        answered = _answers(engine or model, task, split, recipe)
    finally:
        model.train(training)
    return replace(answered, loss=total / tokens, scores={**scores, **answered.scores}, flatness=flatness)


def _likelihood(model: nn.Module, task: Task, feed: Feed) -> tuple[float, int, float | None]:
    device = next(model.parameters()).device
    total, tokens, state, flat = 0.0, 0, None, []
    with torch.no_grad():
        for number in range(feed.per_epoch):
            batch = feed.batch(BatchPosition(0, number)).to(device)
            loss = task.loss(model, batch, state=state)
            nll = float(loss.nll.double())  # synchronises the device, and sums batches in float64
            if not math.isfinite(nll):
                # Only after a failure is the batch repeated with hooks, which would slow down every batch.
                where = locate(model, partial(task.loss, model, batch, state=state))
                raise NotFiniteError(
                    f"the loss of a validation is not finite: it arose in {where}, in batch {number} "
                    f"({describe_examples(batch, task.question)}); try a smaller train.optimizer.rate or train.clip"
                )
            total, state = total + nll, loss.state
            tokens += loss.tokens
            lengths = batch.tensors.get(f"{task.question}_lengths")
            if number < _FLATNESS_BATCHES and loss.attended is not None and lengths is not None:
                flat.append(_flatness(loss.attended, lengths))
    return total, tokens, sum(flat) / len(flat) if flat else None


def _answers(model: Any, task: Task, split: Split, recipe: Recipe) -> Measurement:
    """Return predictions, metrics and, for class labels, scores per class; without the loss."""
    inputs, references = inputs_and_references(task, split, recipe)
    found = task.predict(model, inputs, recipe.search(), batch=MEASURED)
    best = [replaced(answers[0], reference=" / ".join(right)) for answers, right in zip(found, references, strict=True)]
    texts = [one.text for one in best]
    metrics = recipe.metrics
    scores = {one.label: one(hypotheses(one, best), metric_targets(one, task, inputs, references)) for one in metrics}
    scores |= _baseline(task, metrics, references) | task.prediction_scores(best, references)
    confusion = _confusion(task, texts, references)
    label_scores = task.class_scores(texts, references)
    return Measurement(math.nan, scores, tuple(best), None, confusion, label_scores, task.loss_unit)


def metric_targets(
    metric: Metric, task: Task, inputs: Sequence[str], references: Sequence[Sequence[str]]
) -> Sequence[Sequence[str]]:
    """Return the targets of a metric: the references, or the source record of each input."""
    return [[task.record(asked)] for asked in inputs] if metric.compares == "records" else references


def hypotheses(metric: Metric, answers: Sequence[Prediction]) -> Hypotheses:
    """Return the hypotheses of a metric: the text of each answer, or its ranking."""
    if metric.compares != "rankings":
        return [one.text for one in answers]
    return [(one.text,) if one.ranking is None else one.ranking for one in answers]


def _baseline(task: Task, metrics: Sequence[Metric], references: list[list[str]]) -> dict[str, MetricResult]:
    """Return the metrics of the task's constant prediction, if it defines one."""
    if task.constant is None:
        return {}
    texts = [task.constant] * len(references)
    errors = {metric.label: metric(texts, references) for metric in metrics if not metric.higher_is_better}
    return {f"{label}_of_mean": replace(one, name=f"{one.name} of the mean") for label, one in errors.items()}


def _confusion(task: Task, texts: list[str], references: list[list[str]]) -> Confusion | None:
    """Return the confusion matrix; None if answers are free text."""
    found = Confusion.of(
        pair
        for text, right in zip(texts, references, strict=True)
        for pair in zip(task.classes(right[0]), task.classes(text), strict=True)
    )
    return found if found.names else None


def inputs_and_references(task: Task, split: Split, recipe: Recipe) -> tuple[list[str], list[list[str]]]:
    """Return the inputs of a split, and the references of each."""
    assert task.answer is not None
    both = [(task.ask(one.fields), task.references(one.fields)) for one in split.examples]  # read once
    inputs, references = [asked for asked, _ in both], [right for _, right in both]
    return group_references(inputs, references) if task.merges_equal_inputs(recipe) else (inputs, references)


def group_references(inputs: list[str], references: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Merge equal inputs and collect all their references.

    >>> group_references(["read", "cat", "read"], [["R IY D"], ["K AE T"], ["R EH D"]])
    (['read', 'cat'], [['R IY D', 'R EH D'], ['K AE T']])
    """
    found: dict[str, list[str]] = {}
    for text, right in zip(inputs, references, strict=True):
        found.setdefault(text, []).extend(right)
    return list(found), list(found.values())


def _flatness(attended: Weights, lengths: Tensor) -> float:
    """Return the mean entropy of attention rows relative to a uniform distribution over the source."""
    entropy = attended.entropy()
    # Entropy of a uniform row is log S; the clamp avoids a division by log 1 = 0.
    even = lengths.clamp(min=2).double().log().view(-1, *([1] * (entropy.dim() - 1)))
    return float((entropy.double() / even).mean())
