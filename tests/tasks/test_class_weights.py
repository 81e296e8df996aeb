"""Weights of classes in the training loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from regard.data import Batch, DataError, Labels, Tokenizer
from regard.models.model_output import ModelOutput
from regard.specials import IGNORE
from regard.systems.answering.task import Answering
from regard.systems.classification.task import Classification
from regard.systems.tagging.task import Tagging
from regard.tasks.class_weights import ClassWeights
from regard.tasks.loss import token_loss
from regard.tasks.task import Task

LABELS = Labels(("bad", "fair", "good"))
WORDS = Tokenizer.train(["a gem", "far too long"], kind="words")


class Says(nn.Module):
    """Gives the same logits whatever it reads."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, *_: Any) -> ModelOutput:
        return ModelOutput(self.logits)


def test_balanced_weights_make_classes_count_alike() -> None:
    """As scikit-learn defines them: N / (C n_c)."""
    counts = np.array([90, 9, 1])
    factors = np.array(ClassWeights.balanced(counts).factors)
    assert factors == pytest.approx([100 / 270, 100 / 27, 100 / 3])
    assert counts * factors == pytest.approx(100 / 3)
    assert ClassWeights.balanced(np.array([3, 0, 1])).factors == pytest.approx((4 / 6, 1.0, 2.0))


def test_named_weights_are_one_for_the_others() -> None:
    assert ClassWeights.named({"good": 2.5}, LABELS).factors == (1.0, 1.0, 2.5)
    with pytest.raises(DataError, match=r"train\.class_weights: there is no label 'god'; did you mean 'good'"):
        ClassWeights.named({"god": 2.0}, LABELS)


@pytest.mark.parametrize("padding", [0, IGNORE])
def test_value_and_gradient_are_those_of_torch(padding: int) -> None:
    weights = ClassWeights((0.5, 3.0, 1.0, 0.0))
    ours = torch.randn(5, 7, 4, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()
    target = torch.randint(1, 4, (5, 7))
    target[1, 2:] = padding
    total, nll = token_loss(ours, target, padding=padding, weights=weights)
    flat, places = theirs.flatten(0, 1), target.flatten()
    wanted = F.cross_entropy(flat, places, torch.tensor(weights.factors), ignore_index=padding, reduction="sum")
    total.backward()
    wanted.backward()
    torch.testing.assert_close(total, wanted)
    torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(nll, F.cross_entropy(flat.detach(), places, ignore_index=padding, reduction="sum"))
    assert not nll.requires_grad


@pytest.mark.parametrize(
    "task", [Classification({"text": WORDS, "label": LABELS}), Tagging({"text": WORDS, "tags": LABELS})]
)
def test_training_is_weighted_and_validation_is_not(task: Task) -> None:
    tensors = {"text": torch.full((2, 1), 5), "text_lengths": torch.ones(2, dtype=torch.long)}
    tensors |= {
        "label": torch.tensor([0, 2]),
        "tags": torch.tensor([[0], [2]]),
        "tags_lengths": tensors["text_lengths"],
    }
    logits = torch.randn(2, 3)
    model = Says(logits if isinstance(task, Classification) else logits.unsqueeze(1))
    batch = Batch(tensors, (0, 1), 2)
    weighted = task.weighted(ClassWeights((2.0, 1.0, 0.25)))
    each = F.cross_entropy(logits, tensors["label"], reduction="none")
    learned = weighted.loss(model, batch, update=0)
    assert learned.total.item() == pytest.approx(float(2 * each[0] + each[1] / 4))
    assert float(learned.nll) == pytest.approx(float(each.sum()))
    assert weighted.loss(model, batch).total.item() == pytest.approx(float(each.sum()))


def test_a_task_without_classes_has_no_weights() -> None:
    words = Tokenizer.train(["a b"], kind="words")
    with pytest.raises(ValueError, match=r"train\.class_weights"):
        Answering({"story": words, "question": words, "answer": words}).weighted(ClassWeights((1.0,)))
