"""Measuring a model on a split: one function, whether during training or by `regard evaluate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor, nn

from regard.data.feed import Feed, Place
from regard.data.problems import DataError
from regard.decode.engine import Engine
from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion
from regard.evaluate.metrics import Metric
from regard.evaluate.score import Score
from regard.ops.weights import Weights
from regard.recipes.sections import Recipe
from regard.tasks.prediction import Prediction
from regard.tasks.splits import Split
from regard.tasks.task import MEASURED, Task
from regard.train.nan_locator import NotFiniteError, locate, which_of

_LOOKED = 4  # batches in which the evenness of attention is looked at


@dataclass(frozen=True)
class Measured:
    """What a model is worth on a split.

    Attributes:
        loss: mean -log p of what is right, in nats, given the right ones before it.
        scores: perplexity of what generates text, and the metrics, by name.
        predictions: the best answer to each example; of a language model, how some texts go on.
        flatness: how even attention is: its mean entropy over that of an even row, 0 to 1; None without attention.
        confusion: of the classes of answers that are labels; None of others.
        label_scores: of answers that can have several labels at once; None of others.
        loss_unit: of the loss.
    """

    loss: float
    scores: Mapping[str, Score]
    predictions: tuple[Prediction, ...]
    flatness: float | None
    confusion: Confusion | None = None
    label_scores: ClassScores | None = None
    loss_unit: str = "nats"

    @property
    def classes(self) -> ClassScores | None:
        """Precision, recall and F1 of each class; None where answers name no classes."""
        return self.label_scores if self.confusion is None else self.confusion.scores()

    def values(self) -> dict[str, float]:
        """By name, as a row of metrics.jsonl has them."""
        return {"loss": self.loss} | {name: score.value for name, score in self.scores.items()}


def measure(
    model: nn.Module, task: Task, split: Split, recipe: Recipe, *, samples: int = 0, engine: Engine | None = None
) -> Measured:
    """The loss, then the metrics on what the model answers.

    Args:
        model: what is measured; left in the mode it came in.
        task: what it was trained for.
        split: what it is measured on.
        recipe: metrics, search, and how a long text is read.
        samples: of a language model, how many texts to go on with.
        engine: what answers in the model's place; None for the model.

    Raises:
        NotFiniteError: the loss of a batch is no number; the sentence says where that arose.
    """
    training = model.training
    model.eval()
    try:
        task = task.ready(model, split.examples)
        feed = task.measuring_feed(recipe, split, carries=hasattr(model, "carry"))
        total, tokens, flatness = _likelihood(model, task, feed)
        if not tokens:
            raise DataError(
                "nothing that is measured is in the vocabulary, so that it has no loss; measure on data like those "
                "that were learned from"
            )
        scores = task.likelihood_scores(split, total, tokens)
        if task.answer is None:
            texts = split.texts(task.question)[: samples * 7 : 7] if samples else []
            return Measured(total / tokens, scores, tuple(task.samples(model, texts, recipe.search())), flatness)
        answered = _answers(engine or model, task, split, recipe)
    finally:
        model.train(training)
    return replace(answered, loss=total / tokens, scores={**scores, **answered.scores}, flatness=flatness)


def _likelihood(model: nn.Module, task: Task, feed: Feed) -> tuple[float, int, float | None]:
    device = next(model.parameters()).device
    total, tokens, state, flat = 0.0, 0, None, []
    with torch.no_grad():
        for number in range(feed.per_epoch):
            batch = feed.batch(Place(0, number)).to(device)
            loss = task.loss(model, batch, state=state)
            nll = float(loss.nll.double())
            if not math.isfinite(nll):
                where = locate(model, partial(task.loss, model, batch, state=state))
                raise NotFiniteError(
                    f"the loss of a validation is not finite: it arose in {where}, in batch {number} "
                    f"({which_of(batch, task.question)}); try a smaller train.optimizer.rate or train.clip"
                )
            total, state = total + nll, loss.state
            tokens += loss.tokens
            lengths = batch.tensors.get(f"{task.question}_lengths")
            if number < _LOOKED and loss.attended is not None and lengths is not None:
                flat.append(_flatness(loss.attended, lengths))
    return total, tokens, sum(flat) / len(flat) if flat else None


def _answers(model: nn.Module | Engine, task: Task, split: Split, recipe: Recipe) -> Measured:
    """The best answer to each question, the metrics, and the classes where answers name some; no loss."""
    questions, references = asked(task, split, recipe)
    found = task.predict(model, questions, recipe.search(), batch=MEASURED)
    best = [replace(answers[0], reference=" / ".join(right)) for answers, right in zip(found, references, strict=True)]
    texts = [one.text for one in best]
    metrics = recipe.metrics
    scores = {metric.label: metric(texts, references) for metric in metrics} | _beside(task, metrics, references)
    confusion = _confusion(task, texts, references)
    label_scores = task.class_scores(texts, references)
    return Measured(math.nan, scores, tuple(best), None, confusion, label_scores, task.loss_unit)


def _beside(task: Task, metrics: Sequence[Metric], references: list[list[str]]) -> dict[str, Score]:
    """The errors of the answer that looks at nothing, where a task has one."""
    if task.constant is None:
        return {}
    texts = [task.constant] * len(references)
    errors = {metric.label: metric(texts, references) for metric in metrics if not metric.higher_is_better}
    return {f"{label}_of_mean": replace(one, name=f"{one.name} of the mean") for label, one in errors.items()}


def _confusion(task: Task, texts: list[str], references: list[list[str]]) -> Confusion | None:
    """Which class was claimed for which; None where answers are free text."""
    found = Confusion.of(
        pair
        for text, right in zip(texts, references, strict=True)
        for pair in zip(task.classes(right[0]), task.classes(text), strict=True)
    )
    return found if found.names else None


def asked(task: Task, split: Split, recipe: Recipe) -> tuple[list[str], list[list[str]]]:
    """What a model is asked on a split, and the right answers to each question."""
    assert task.answer is not None
    questions = [task.ask(example.fields) for example in split.examples]
    references = [task.references(example.fields) for example in split.examples]
    return grouped(questions, references) if task.merges_equal_inputs(recipe) else (questions, references)


def grouped(questions: list[str], references: list[list[str]]) -> tuple[list[str], list[list[str]]]:
    """Each question once, with all its references.

    >>> grouped(["read", "cat", "read"], [["R IY D"], ["K AE T"], ["R EH D"]])
    (['read', 'cat'], [['R IY D', 'R EH D'], ['K AE T']])
    """
    found: dict[str, list[str]] = {}
    for question, texts in zip(questions, references, strict=True):
        found.setdefault(question, []).extend(texts)
    return list(found), list(found.values())


def _flatness(attended: Weights, lengths: Tensor) -> float:
    """Entropy of each row of attention over that of an even one, averaged."""
    entropy = attended.entropy()
    even = lengths.clamp(min=2).double().log().view(-1, *([1] * (entropy.dim() - 1)))
    return float((entropy.double() / even).mean())
