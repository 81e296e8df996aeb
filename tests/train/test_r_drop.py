"""R-Drop: two readings, their mean loss and their divergence."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.batching.feed import BatchPosition
from regard.recipes.errors import RecipeError
from regard.tasks.build import make_model
from regard.tasks.loss import Loss, Outputs
from regard.tasks.setup import prepare
from regard.train.objective import Objective
from regard.train.r_drop import divergence, r_drop
from tests.train.test_class_weights import CLASSIFY
from tests.train.test_class_weights import recipe as written
from tests.train.tiny import recipe


def kl(p: Tensor, q: Tensor) -> Tensor:
    """KL(p‖q) of each row, by torch."""
    return F.kl_div(q.log_softmax(-1), p.log_softmax(-1), reduction="none", log_target=True).sum(-1)


def test_divergence_is_both_of_torch_where_there_is_a_target() -> None:
    one, other = (torch.randn(2, 3, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    counts = torch.tensor([[True, True, False], [False, True, False]])
    found = divergence(Outputs(one, counts), Outputs(other, counts))
    expected = (kl(one, other) + kl(other, one))[counts].sum()
    torch.testing.assert_close(found, expected)
    gradients = torch.autograd.grad(found, (one, other))
    for gradient, wanted in zip(gradients, torch.autograd.grad(expected, (one, other)), strict=True):
        torch.testing.assert_close(gradient, wanted)
    nothing = divergence(Outputs(one, torch.zeros_like(counts)), Outputs(other, torch.zeros_like(counts)))
    assert nothing.item() == 0.0


def test_words_without_probability_in_both_change_nothing() -> None:
    one, other = (torch.randn(1, 5, dtype=torch.float64) for _ in range(2))
    shut = torch.tensor([[False, False, False, False, True]])
    long = [part.masked_fill(shut, -torch.inf).requires_grad_() for part in (one, other)]
    counts = torch.tensor([True])
    found = divergence(*(Outputs(part, counts) for part in long))
    torch.testing.assert_close(found, divergence(Outputs(one[:, :4], counts), Outputs(other[:, :4], counts)))
    for gradient in torch.autograd.grad(found, long):
        assert gradient.isfinite().all()


def test_the_loss_by_hand() -> None:
    """(2 + 4 + 3/2 (log 2) / 2) / 2: of (1/2, 1/2) and (2/3, 1/3) the divergence is (log 2) / 6."""
    rows = [Outputs(torch.tensor([chances]).log(), torch.tensor([True])) for chances in ([0.5, 0.5], [2 / 3, 1 / 3])]
    losses = [
        Loss(torch.tensor(total), torch.tensor(total - 1), 1, outputs=row)
        for total, row in zip((2.0, 4.0), rows, strict=True)
    ]
    found = r_drop(*losses, 3.0)
    assert found.total.item() == pytest.approx((2 + 4 + 3 / 2 * torch.tensor(2.0).log().item() / 6) / 2)
    assert found.nll.item() == 2.0


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_translation_reads_twice(dropout: float, tmp_path: Path) -> None:
    """Without dropout both readings are one and the loss is the plain one; with it the divergence is added."""
    given = recipe(f"model.dropout={dropout}", "train.r_drop=5")
    setup = prepare(given, tmp_path)
    model = make_model(given, setup.task)
    batch = setup.feed.batch(BatchPosition(0, 0))
    plain, _, _ = Objective(model, setup.task)(batch, 0)
    torch.manual_seed(1)
    total, nll, _ = Objective.of(model, setup.task, given.train)(batch, 0)
    torch.manual_seed(1)
    first, second = (setup.task.loss(model, batch, update=0) for _ in range(2))
    apart = divergence(first.outputs, second.outputs)
    torch.testing.assert_close(total, (first.total + second.total + 2.5 * apart) / 2)
    torch.testing.assert_close(nll, (first.nll + second.nll) / 2)
    assert (apart.item() > 0) == bool(dropout)
    assert torch.allclose(total, plain) != bool(dropout)
    assert setup.task.loss(model, batch).outputs is None


def test_classification_reads_twice_what_has_one_label(tmp_path: Path) -> None:
    (tmp_path / "reviews.txt").write_text("good a gem\n" * 6 + "bad too long\n" * 2)
    given = written(CLASSIFY, f"data.root={tmp_path}", "train.r_drop=1", "model.dropout=0.5")
    setup = prepare(given, tmp_path / "cache")
    model = make_model(given, setup.task)
    batch = setup.feed.batch(BatchPosition(0, 0))
    torch.manual_seed(1)
    total, _, _ = Objective.of(model, setup.task, given.train)(batch, 0)
    torch.manual_seed(1)
    first, second = (setup.task.loss(model, batch, update=0) for _ in range(2))
    apart = (kl(first.outputs.logits, second.outputs.logits) + kl(second.outputs.logits, first.outputs.logits)).sum()
    assert apart.item() > 0
    torch.testing.assert_close(total, (first.total + second.total + apart / 2) / 2)


def test_it_is_refused_where_there_is_no_softmax(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text("text,stars\na gem,4\n")
    columns = "header: true, source: text, target: stars, target_kind: number"
    table = f"{{format: table, train: films.csv, valid: films.csv, {columns}}}"
    text = CLASSIFY.replace("{format: labelled, train: reviews.txt, valid: reviews.txt}", table)
    with pytest.raises(RecipeError, match=r"r_drop is of one label, and data\.target_kind is 'number'"):
        written(text, f"data.root={tmp_path}", "train.r_drop=1")
