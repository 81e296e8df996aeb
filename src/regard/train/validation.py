"""Measuring a model on a split: one function, whether during training or by `regard evaluate`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from regard.data import Batches, Collator
from regard.decode.search import Search
from regard.evaluate.metrics import Metric
from regard.evaluate.perplexity import perplexity
from regard.evaluate.score import Score
from regard.tasks.prediction import Prediction
from regard.tasks.translation import Translation
from regard.train.splits import Split

BATCH = 64


@dataclass(frozen=True)
class Measured:
    """What a model is worth on a split.

    Attributes:
        loss: mean -log p of a target token, in nats, teacher-forced.
        perplexity: its exponential.
        scores: the metrics on what the model generated.
        predictions: the best answer to each example.
        flatness: how even attention is: its mean entropy over that of an even row, 0 to 1; None without attention.
    """

    loss: float
    perplexity: Score
    scores: tuple[Score, ...]
    predictions: tuple[Prediction, ...]
    flatness: float | None

    def values(self, metrics: list[Metric]) -> dict[str, float]:
        """By name, as a row of metrics.jsonl has them."""
        row = {"loss": self.loss, "perplexity": self.perplexity.value}
        return row | {metric.name: score.value for metric, score in zip(metrics, self.scores, strict=True)}


def measure(model: nn.Module, task: Translation, split: Split, metrics: list[Metric], search: Search) -> Measured:
    """Teacher-forced loss, then the metrics on generated text."""
    training = model.training
    model.eval()
    try:
        loss, tokens, flatness = _likelihood(model, task, split)
        sources, references = split.texts("source"), split.texts("target")
        best = [answers[0] for answers in task.predict(model, sources, search, batch=BATCH)]
        scores = tuple(metric([one.text for one in best], [[text] for text in references]) for metric in metrics)
    finally:
        model.train(training)
    return Measured(loss / tokens, perplexity(loss, tokens), scores, tuple(best), flatness)


def _likelihood(model: nn.Module, task: Translation, split: Split) -> tuple[float, int, float | None]:
    collate = Collator(split.corpus)
    batches = Batches(collate.lengths("source", "target"), sentences=BATCH, shuffle=False)
    device = next(model.parameters()).device
    total, tokens, flat = 0.0, 0, []
    with torch.no_grad():
        for number, indices in enumerate(batches.epoch(0)):
            batch = collate(indices).to(device)
            loss = task.loss(model, batch)
            total += float(loss.nll.double())
            tokens += loss.tokens
            if number < 4:
                flat += _flatness(model(batch.source, batch.source_lengths, batch.target[:, :-1]), batch.source_lengths)
    return total, tokens, sum(flat) / len(flat) if flat else None


def _flatness(predicted: Any, lengths: torch.Tensor) -> list[float]:
    """Entropy of each row of attention over that of an even one, averaged."""
    if predicted.attended is None:
        return []
    entropy = predicted.attended.entropy()
    even = lengths.clamp(min=2).double().log().view(-1, *([1] * (entropy.dim() - 1)))
    return [float((entropy.double() / even).mean())]
