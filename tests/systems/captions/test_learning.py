"""Losses of captions: the penalty, and the gradient of hard attention against the exact one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from regard.data.batching.batch import Batch
from regard.data.fields.tokenizer import Tokenizer
from regard.models.model_output import ModelOutput
from regard.specials import PAD
from regard.systems.captions.captioner import Captioner
from regard.systems.captions.field import PictureKind
from regard.systems.captions.sections import HardSection
from regard.systems.captions.task import Captioning


def task(**given: object) -> Captioning:
    tokenizer = Tokenizer.train(["a red dog", "a blue cat"], kind="words")
    return Captioning({"picture": PictureKind((None, 3)), "caption": tokenizer}, **given)  # type: ignore[arg-type]


def captioner(looking: str) -> Captioner:
    torch.manual_seed(1)
    options = {"embedding_dim": 5, "hidden_dim": 7, "given": True, "scale": 1.0, "expectation": 0.0}
    return Captioner(3, 9, attention=looking, **options).double()  # type: ignore[arg-type]


def batch(maps: Tensor, lengths: list[int], captions: list[list[int]]) -> Batch:
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(one) for one in captions], batch_first=True, padding_value=PAD)
    sizes = torch.tensor([len(one) for one in captions])
    tensors = {"picture": maps, "picture_lengths": torch.tensor(lengths), "caption": ids, "caption_lengths": sizes}
    return Batch(tensors, tuple(range(len(maps))), int((ids[:, 1:] != PAD).sum()))


@pytest.mark.parametrize("looking", ["none", "soft", "hard", "marginal"])
def test_a_row_that_fills_up_a_batch_counts_nothing(looking: str) -> None:
    maps, captions = torch.randn(2, 5, 3).double(), [[2, 5, 6, 3], [2, 7, 3]]
    given = {"spread": 0.0 if looking == "none" else 1.0, "hard": HardSection(reward=0.0)}
    alone = captioner(looking)
    filled = captioner(looking)
    filled.load_state_dict(alone.state_dict())
    losses = []
    for model, more in ((alone, 0), (filled, 1)):
        rows = torch.cat((maps, torch.zeros(more, 5, 3).double()))
        if model.attention is not None and looking == "hard":
            model.attention.align.at_test = "expectation"
        one = batch(rows, [5, 3] + [0] * more, captions + [[0, 0]] * more)
        one = replace(one, tensors={**one.tensors, "caption_lengths": torch.tensor([4, 3] + [0] * more)})
        losses.append(task(**given).loss(model.eval(), one, update=1).total)
    torch.testing.assert_close(losses[0], losses[1])


def test_the_penalty_by_hand() -> None:
    model = captioner("soft")
    one = batch(torch.randn(1, 3, 3).double(), [3], [[2, 5, 6, 3]])
    weights = model(one["picture"], one["picture_lengths"], one["caption"][:, :-1]).attended.weights()
    penalty = (1 - weights[0].sum(0)).square().sum()
    plain = task().loss(model, one, update=1).total
    torch.testing.assert_close(task(spread=0.5).loss(model, one, update=1).total, plain + 0.5 * penalty)


@pytest.mark.parametrize("baseline", ["moving", "others", "none"])
def test_the_expected_gradient_of_draws_is_exact(baseline: str) -> None:
    """One word, three regions: the mean over all draws, each as often as it is drawn, against the sum itself."""
    log_alpha = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).log().requires_grad_()
    likelihood = torch.tensor([0.9, 0.2, 0.4], dtype=torch.float64).log()
    exact = torch.autograd.grad((log_alpha.softmax(0) * likelihood).sum(), log_alpha)[0]
    learning, mean = task(hard=HardSection(baseline=baseline, reward=1.0, entropy=0.0)), torch.zeros(3).double()
    model = captioner("hard")
    for draw in range(3):
        model.baseline.value.fill_(-0.7)
        other = (1 - likelihood[draw].exp()).log()  # of the only other word
        logits = torch.stack((likelihood[draw], other)).view(1, 1, 2)
        # PAD is id 0, so the right word is id 1.
        said = log_alpha.log_softmax(0)[draw].view(1, 1, 1)
        extras = {
            "sample_key": torch.tensor([[[draw]]]),
            "sample_log_prob": said,
            "sample_entropy": said.new_zeros(1, 1, 1),
        }
        predicted = ModelOutput(logits.flip(2), extras=extras)
        term = learning._draws(model, predicted, torch.tensor([[1]]))
        gradient = torch.autograd.grad(-term, log_alpha)[0]
        mean += log_alpha.softmax(0)[draw].item() * gradient
    torch.testing.assert_close(mean, exact)


def test_the_moving_baseline_takes_in_the_batch_after_use() -> None:
    model = captioner("hard")
    one = batch(torch.randn(2, 3, 3).double(), [3, 3], [[2, 5, 6, 3], [2, 7, 3]])
    task().loss(model, one, update=1)
    assert float(model.baseline.value) < 0
    before = model.baseline.value.clone()
    task().loss(model.eval(), one)
    assert model.baseline.value == before
