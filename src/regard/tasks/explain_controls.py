"""Control experiments for attention as explanation: an adversarially trained rival and a guided MLP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.example import Example
from regard.explain.guided_mlp import LabelledTexts, equal_weights, guided_accuracy, weights_of
from regard.explain.rival import Rivalry, rivalry, train_rival
from regard.explain.subject import StagedSubject, Subject
from regard.recipes.sections import Recipe
from regard.tasks.build import make_model
from regard.tasks.task import Task

EQUAL, OWN, MINE, RIVALS = "equal weights", "its own weights", "the model's weights", "the rival's weights"
"""Weighting schemes that guide the context-free MLP."""


@dataclass(frozen=True)
class ExplainControls:
    """Results of the control experiments on the evaluation texts.

    Attributes:
        model: accuracy of the model itself.
        rival: accuracy of a model trained to give the same answers with different weights.
        guided: accuracy of a context-free MLP, by the source of its attention weights.
        rivalry: divergence of the answers and weights of model and rival.
    """

    model: float
    rival: float
    guided: dict[str, float]
    rivalry: Rivalry

    def rows(self) -> list[tuple[str, str]]:
        """Return the table rows: label and value."""
        return [
            ("accuracy of the model", f"{self.model:.3f}"),
            *(
                (f"accuracy of words without context, weighed by {whose}", f"{n:.3f}")
                for whose, n in self.guided.items()
            ),
            ("accuracy of a rival, trained for the same answers by other weights", f"{self.rival:.3f}"),
            ("change of the answer from model to rival", f"{self.rivalry.change:.3f}"),
            ("divergence of the weights from model to rival, nats", f"{self.rivalry.distance:.3f}"),
        ]

    def finding(self) -> str:
        """Return a sentence that interprets the controls."""
        equal, mine, other = (self.guided[whose] for whose in (EQUAL, MINE, RIVALS))
        use = "help" if mine > equal else "do not help"
        return (
            f"The model's weights {use} a network that reads words without context: {mine:.3f} with them, {equal:.3f} "
            f"with equal ones. A rival has weights that diverge by {self.rivalry.distance:.2f} of at most 0.69 nats, "
            f"and answers that change by {self.rivalry.change:.3f}; its weights give that network {other:.3f}."
        )


def controls(
    recipe: Recipe,
    task: Task,
    model: Any,
    train: Iterable[Example],
    measured: Iterable[Example],
    *,
    strength: float = 1e-3,
    epochs: int = 8,
    seed: int = 0,
) -> ExplainControls:
    """Train the control networks; takes minutes on one core for some thousand sentences.

    Args:
        recipe: recipe of the model; the rival has the same architecture.
        task: task of the model.
        model: in evaluation mode.
        train: training examples of the control networks.
        measured: evaluation examples.
        strength: λ, loss weight of the divergence between the attention weights of rival and model.
        epochs: training epochs of each network.
        seed: random seed of each network.

    Wiegreffe & Pinter 2019, "Attention is not not Explanation", sections 3.4 and 4.
    """
    subject = _reader_of_words(task.subject(model))
    learned, asked = (labelled(task, subject, part) for part in (train, measured))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        other = make_model(recipe, task).to(asked.labels.device).eval()
    rival = _reader_of_words(task.subject(other))
    trained = [one for one in other.parameters() if one.requires_grad]
    train_rival(subject, rival, trained, learned, strength=strength, epochs=epochs, seed=seed)
    weights = {
        EQUAL: (equal_weights(learned.texts), equal_weights(asked.texts)),
        OWN: None,
        MINE: (weights_of(subject, learned.texts), weights_of(subject, asked.texts)),
        RIVALS: (weights_of(rival, learned.texts), weights_of(rival, asked.texts)),
    }
    guided = {whose: guided_accuracy(learned, asked, one, epochs=epochs, seed=seed) for whose, one in weights.items()}
    return ExplainControls(
        _accuracy(subject, asked), _accuracy(rival, asked), guided, rivalry(subject, rival, asked.texts)
    )


def _reader_of_words(subject: Subject) -> StagedSubject:
    """Return the subject if its attention weights can guide a word-level MLP.

    Raises:
        ValueError: the subject has no weights over single words.
    """
    if not isinstance(subject, StagedSubject) or not subject.names or subject.unit != "word":
        raise ValueError("--controls is supported for classifiers that read words by one level of attention")
    return subject


def labelled(task: Task, subject: Subject, examples: Iterable[Example]) -> LabelledTexts:
    """Return the texts of examples with their class indices; skips examples with an unknown label."""
    found = [(task.ask(one.fields), task.references(one.fields)[0]) for one in examples]
    known = [(text, subject.names.index(answer)) for text, answer in found if answer in subject.names]
    texts = subject.read([text for text, _ in known])
    return LabelledTexts(texts, torch.tensor([answer for _, answer in known], device=texts.ids.device))


def _accuracy(subject: Subject, given: LabelledTexts) -> float:
    with torch.no_grad():
        rows = torch.arange(len(given.labels), device=given.labels.device).split(256)
        found: list[Tensor] = [subject.probabilities(given.texts.rows(part)).argmax(1) for part in rows]
    return float((torch.cat(found) == given.labels).double().mean())
