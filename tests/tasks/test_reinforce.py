"""REINFORCE for hard attention: the gradient it estimates, and that it teaches where to look."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.models import AttentionConfig, build
from regard.models.model_output import ModelOutput, hard_attention_extras, log_softmax
from regard.nn import Attention, Hard, ScaledDot
from regard.ops import hard_weights
from regard.specials import PAD
from regard.tasks.loss import token_loss
from regard.tasks.reinforce import RewardedDraws, check_draws
from tests.mechanism import assert_close
from tests.models.systems import bahdanau, pairs


def arms() -> Tensor:
    """The logits that each of two places gives; id 2 is wanted."""
    return torch.tensor([[0.0, 0.0, 0.2], [0.0, 0.0, 1.7]])


def draw(energy: Tensor, rows: int) -> tuple[Tensor, dict[str, Tensor]]:
    """One-hot weights [rows, 2] of draws from softmax(energy) [2], and the extras of a model that made them."""
    weights, sample = hard_weights(energy.expand(rows, 1, 1, 2))
    extras = {"sample_log_prob": sample.log_prob, "sample_entropy": sample.entropy}
    return weights[:, 0, 0], extras


def estimate(predicted: ModelOutput, wanted: Tensor, energy: Tensor, criterion: RewardedDraws) -> Tensor:
    """The gradient of the whole loss for the energies, for each sentence."""
    loss, _ = token_loss(predicted.logits, wanted, padding=PAD)
    (gradient,) = torch.autograd.grad((loss + criterion.loss(predicted, wanted)) / len(wanted), energy)
    return gradient


def test_two_arms_get_the_exact_gradient() -> None:
    energy = torch.tensor([0.3, -0.4], requires_grad=True)
    weights, extras = draw(energy, 40_000)
    wanted = torch.full((40_000, 1), 2)
    predicted = ModelOutput((weights @ arms()).unsqueeze(1), extras=extras)
    exact = -(energy.softmax(0) @ log_softmax(arms())[:, 2])
    (gradient,) = torch.autograd.grad(exact, energy)
    ours = estimate(predicted, wanted, energy, RewardedDraws(entropy=0.0))
    # one sentence's estimate varies by less than 0.25, so 40,000 by less than 0.00125
    assert_close(ours, gradient.double(), tolerance=0.005)
    assert gradient.abs().min() > 0.09


def test_a_draw_is_rewarded_for_what_comes_after_it() -> None:
    """The draw of the first step decides the second word, and the first word not at all; sentences differ in length."""
    energy = torch.tensor([0.3, -0.4], requires_grad=True)
    rows = 60_000
    weights, first = draw(energy, rows)
    _, second = draw(torch.zeros(2), rows)
    extras = {name: torch.cat((first[name], second[name]), dim=2) for name in first}
    logits = torch.stack((torch.zeros(rows, 3), weights @ arms()), dim=1)
    wanted = torch.full((rows, 2), 2)
    wanted[::3, 1] = PAD
    exact = -2 / 3 * (energy.softmax(0) @ log_softmax(arms())[:, 2])
    (gradient,) = torch.autograd.grad(exact, energy)
    ours = estimate(ModelOutput(logits, extras=extras), wanted, energy, RewardedDraws(entropy=0.0))
    assert_close(ours, gradient.double(), tolerance=0.005)
    assert gradient.abs().min() > 0.09


def test_the_baseline_is_of_the_other_sentences() -> None:
    logits, wanted = torch.randn(3, 4, 7).double(), torch.tensor([[4, 5, 6, 3], [6, 3, 0, 0], [5, 5, 3, 0]])
    said = log_softmax(logits).gather(2, wanted.unsqueeze(2)).squeeze(2)
    lengths = [4, 2, 3]
    ours = RewardedDraws().advantage(ModelOutput(logits), wanted)
    for row, length in enumerate(lengths):
        others = torch.cat([said[other, : lengths[other]] for other in range(3) if other != row]).mean()
        for t in range(4):
            expected = (said[row, t:length] - others).sum()
            assert_close(ours[row, t], expected, tolerance=1e-10)
    alone = RewardedDraws().advantage(ModelOutput(logits[:1]), wanted[:1])
    assert_close(alone[0, 0], said[0].sum(), tolerance=1e-10)


def test_heads_add_up_padding_does_not_and_entropy_is_maximised() -> None:
    log_prob = torch.randn(2, 3, 4).double().requires_grad_()
    entropy = torch.rand(2, 3, 4).double().requires_grad_()
    predicted = ModelOutput(
        torch.randn(2, 4, 7).double(), extras={"sample_log_prob": log_prob, "sample_entropy": entropy}
    )
    wanted = torch.tensor([[4, 5, 6, 3], [6, 3, 0, 0]])
    criterion = RewardedDraws(reward=0.5, entropy=0.2)
    criterion.loss(predicted, wanted).backward()
    advantage = criterion.advantage(predicted, wanted)
    assert log_prob.grad is not None
    assert entropy.grad is not None
    inside = (wanted != PAD).unsqueeze(1).expand(2, 3, 4)
    assert_close(log_prob.grad, -0.5 * advantage.unsqueeze(1) * inside, tolerance=1e-10)
    assert_close(entropy.grad, -0.2 * inside.double(), tolerance=1e-10)
    assert not predicted.logits.requires_grad


def test_soft_attention_gets_nothing() -> None:
    assert RewardedDraws().loss(ModelOutput(torch.randn(2, 4, 7)), torch.full((2, 4), 5)).item() == 0.0


def test_the_score_of_a_model_learns_by_it_alone() -> None:
    hard = {"name": "hard", "expectation_probability": 0.0}
    model, (source, lengths, target) = bahdanau(attention=AttentionConfig(align=hard)), pairs()
    predicted = model(source, lengths, target[:, :-1])
    loss, _ = token_loss(predicted.logits, target[:, 1:], padding=PAD)
    loss.backward(retain_graph=True)
    score = model.attention.score.weight
    assert score.grad is None or not score.grad.any()
    RewardedDraws(entropy=0.0).loss(predicted, target[:, 1:]).backward()
    assert score.grad is not None
    assert bool(score.grad.any())


def test_models_some_of_whose_draws_would_have_no_reward_are_refused() -> None:
    hard = {"attention": {"align": "hard"}}
    check_draws(build("bahdanau", 11, 13, **hard))
    check_draws(build("simple_attention", 11, 13))
    check_draws(build("bidirectional", 11, 13))
    with pytest.raises(ValueError, match="'hard' is not for 'simple_attention': the read before its first word has no"):
        check_draws(build("simple_attention", 11, 13, **hard))
    with pytest.raises(ValueError, match="'hard' is not for 'bidirectional': draws of its second direction have no"):
        check_draws(build("bidirectional", 11, 13, model={"kind": "luong", **hard}))


class Copier(nn.Module):
    """Says the words of its source in their order, which it sees through one draw for each place."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(12, 16), nn.Embedding(places, 16)
        self.attention = Attention(ScaledDot(16, 16, 16), Hard(expectation_probability=0.0))
        self.output_map = nn.Linear(16, 12)

    def forward(self, source: Tensor) -> ModelOutput:
        places = self.places.weight.expand(len(source), -1, -1)
        attended = self.attention(places, places, self.words(source))
        return ModelOutput(
            self.output_map(attended.context), attended=attended, extras=hard_attention_extras([attended])
        )


def taught(reward: float) -> float:
    """-log p of a word at the end of a short training."""
    torch.manual_seed(3)
    model, criterion = Copier(places=5), RewardedDraws(reward=reward)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(150):
        source = torch.randint(4, 12, (64, 5))
        predicted = model(source)
        loss, nll = token_loss(predicted.logits, source, padding=PAD)
        optimizer.zero_grad()
        ((loss + criterion.loss(predicted, source)) / source.numel()).backward()
        optimizer.step()
    return nll.item() / source.numel()


def test_it_teaches_where_to_look() -> None:
    """Without the reward it guesses one of eight words, log 8 = 2.08; with it most seeds find every place."""
    assert taught(reward=0.0) > 1.5
    assert taught(reward=1.0) < 1.0
