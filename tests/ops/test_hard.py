"""Hard attention and its REINFORCE loss."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard import Mask
from regard.nn import Attention, Dot, Hard, MovingBaseline, Reinforce
from regard.ops import Sample, hard_weights, masked_softmax, reinforce_loss
from tests.mechanism import assert_close, check_gradients

ENERGY = torch.tensor([0.3, -0.4, 1.1], dtype=torch.float64, device="cpu")
REWARD = torch.tensor([-2.0, -0.5, -3.0], dtype=torch.float64, device="cpu")


def test_shapes() -> None:
    weights, sample = hard_weights(torch.randn(2, 3, 5, 7))
    assert weights.shape == (2, 3, 5, 7)
    assert sample.key.shape == sample.log_prob.shape == sample.entropy.shape == (2, 3, 5)


def test_value_by_hand() -> None:
    """α = (1/8, 6/8, 1/8): the greedy choice is key 1, its log-probability log 3/4."""
    weights, sample = hard_weights(torch.tensor([[[[1.0, 6.0, 1.0]]]]).log(), greedy=True)
    assert_close(weights, [[[[0.0, 1.0, 0.0]]]])
    assert sample.key.item() == 1
    assert_close(sample.log_prob, [[[math.log(0.75)]]])
    assert_close(sample.entropy, [[[-0.75 * math.log(0.75) + 0.25 * math.log(8)]]])


def test_mask() -> None:
    energy = torch.randn(2, 2, 50, 7)
    weights, sample = hard_weights(energy, Mask.padding([4, 0]))
    assert (weights[0, ..., 4:] == 0).all()
    assert (weights[0].sum(-1) == 1).all()
    assert (sample.key[0] < 4).all()
    assert (weights[1] == 0).all()
    assert (sample.key[1] == -1).all()
    assert (sample.log_prob[1] == 0).all()
    assert (sample.entropy[1] == 0).all()
    padded = energy.clone()
    padded[..., 4:] = 99.0
    _, other = hard_weights(padded, Mask.padding([4, 0]), greedy=True)
    _, same = hard_weights(energy, Mask.padding([4, 0]), greedy=True)
    assert all(torch.equal(a, b) for a, b in zip(other, same, strict=True))


def test_gradients() -> None:
    """Of what is differentiable: log-probability and entropy, and the weights where the expectation is taken."""
    expectation = torch.tensor([True, False, False])

    def parts(energy: Tensor) -> tuple[Tensor, ...]:
        mask = Mask.padding([3, 4, 0])
        weights, sample = hard_weights(energy, mask, expectation=expectation, greedy=True)
        return weights[0], sample.log_prob, sample.entropy

    check_gradients(parts, torch.randn(3, 2, 2, 4))


def test_empty_rows_send_back_zero_gradients() -> None:
    energy = torch.randn(2, 1, 3, 5, requires_grad=True)
    weights, sample = hard_weights(energy, Mask.padding([0, 5]))
    (grad,) = torch.autograd.grad(weights.sum() + sample.log_prob.sum() + sample.entropy.sum(), energy)
    assert torch.isfinite(grad).all()
    assert (grad[0] == 0).all()
    assert (grad[1] != 0).any()


def test_draws_follow_the_softmax() -> None:
    """Each frequency within five standard deviations of its probability; a masked key is never drawn."""
    draws = 20_000
    energy = torch.tensor([0.0, 1.0, 9.0, -1.0]).expand(1, 1, draws, 4)
    mask = Mask.of(torch.tensor([True, True, False, True]))
    weights, sample = hard_weights(energy, mask)
    probability = masked_softmax(energy, mask)[0, 0, 0].double()
    deviation = (probability * (1 - probability) / draws).sqrt()
    assert ((weights.double().mean((0, 1, 2)) - probability).abs() <= 5 * deviation).all()
    assert_close(sample.log_prob, probability[sample.key].log())


def test_a_generator_repeats_its_draws() -> None:
    energy = torch.randn(2, 3, 5, 7)
    one, other = (hard_weights(energy, generator=torch.Generator(energy.device).manual_seed(4))[1] for _ in range(2))
    assert torch.equal(one.key, other.key)


def test_chosen_sequences_take_the_expectation() -> None:
    energy = torch.randn(2, 3, 5, 7)
    weights, sample = hard_weights(energy, expectation=torch.tensor([True, False]))
    assert_close(weights[0], masked_softmax(energy)[0].double())
    assert (sample.key[0] == -1).all()
    assert (sample.log_prob[0] == 0).all()
    assert ((weights[1] == 0) | (weights[1] == 1)).all()
    assert (sample.log_prob[1] < 0).all()
    assert (sample.entropy > 0).all()


def exact_gradient() -> Tensor:
    """d/de of E[reward] = Σ α_s r_s, by enumeration: α_s (r_s - E[r])."""
    alpha = ENERGY.softmax(0)
    return alpha * (REWARD - (alpha * REWARD).sum())


@pytest.mark.parametrize("baseline", [0.0, -2.5, 40.0])
def test_the_expected_gradient_is_exact_whatever_the_baseline(baseline: float) -> None:
    """Enumerate the three draws: Σ_s α_s (gradient of the loss when s is drawn)."""
    energy = ENERGY.clone().requires_grad_()
    log_alpha = energy.log_softmax(0)
    expected = torch.zeros_like(ENERGY)
    for s in range(3):
        sample = Sample(torch.tensor([[[s]]]), log_alpha[s].view(1, 1, 1), log_alpha[s].new_zeros(1, 1, 1))
        loss = reinforce_loss(REWARD[s : s + 1], sample, baseline)
        expected += log_alpha[s].exp().detach() * torch.autograd.grad(loss, energy, retain_graph=True)[0]
    assert_close(-expected, exact_gradient(), tolerance=1e-12)


@pytest.mark.parametrize("baseline", [0.0, -2.5])
def test_the_gradient_averaged_over_draws_is_that_of_the_expectation(baseline: float) -> None:
    """Within five standard deviations of the mean of N draws, the variance taken by enumeration."""
    draws, alpha = 20_000, ENERGY.softmax(0)
    each = (REWARD - baseline).unsqueeze(1) * (
        torch.eye(3, dtype=torch.float64, device="cpu") - alpha
    )  # one row a draw
    deviation = ((alpha.unsqueeze(1) * each.square()).sum(0) - exact_gradient().square()).div(draws).sqrt()
    energy = ENERGY.to(torch.get_default_device()).requires_grad_()
    weights, sample = hard_weights(energy.expand(draws, 1, 1, 3))
    log_likelihood = (weights * REWARD.to(weights.device)).sum((1, 2, 3))
    (grad,) = torch.autograd.grad(reinforce_loss(log_likelihood, sample, baseline), energy)
    assert ((-grad.cpu() - exact_gradient()).abs() <= 5 * deviation).all()


def test_the_reward_is_detached_and_the_entropy_is_maximised() -> None:
    log_likelihood = torch.tensor([-3.0, -5.0], requires_grad=True)
    log_prob, entropy = torch.tensor([[[-1.0]], [[-2.0]]]), torch.tensor([[[0.5]], [[0.7]]])
    log_prob.requires_grad_(), entropy.requires_grad_()
    sample = Sample(torch.zeros(2, 1, 1), log_prob, entropy)
    loss = reinforce_loss(log_likelihood, sample, -1.0, reward_weight=0.5, entropy_weight=0.2)
    # -[(-3 + 0.5 (-2) (-1) + 0.2 0.5) + (-5 + 0.5 (-4) (-2) + 0.2 0.7)] / 2
    assert_close(loss, (1.9 + 0.86) / 2)
    grads = torch.autograd.grad(loss, (log_likelihood, log_prob, entropy))
    assert_close(grads[0], [-0.5, -0.5])
    assert_close(grads[1].flatten(), [0.5, 1.0])
    assert_close(grads[2].flatten(), [-0.1, -0.1])


def test_steps_past_the_length_do_not_count() -> None:
    _, sample = hard_weights(torch.randn(2, 3, 5, 7))
    log_likelihood = torch.randn(2)
    cut = Sample(*(part.masked_fill(torch.arange(5) >= torch.tensor([2, 5])[:, None, None], 0) for part in sample))
    options = {"reward_weight": 0.3, "entropy_weight": 0.1}
    short = reinforce_loss(log_likelihood, sample, lengths=torch.tensor([2, 5]), **options)
    assert_close(short, reinforce_loss(log_likelihood, cut, **options).double())


def test_module_in_training_reads_one_value_or_all() -> None:
    attention = Attention(Dot(), Hard(expectation_probability=0.5))
    query, key = torch.randn(64, 3, 5), torch.randn(64, 7, 5)
    out = attention(query, key)
    soft = (query @ key.mT).softmax(-1)
    drawn = out.sample.key.squeeze(1)  # [64, 3]
    took_all = (drawn == -1).all(1)
    assert torch.equal(took_all, (drawn == -1).any(1))  # a sequence switches as a whole
    assert 0 < int(took_all.sum()) < 64
    assert_close(out.context[took_all], (soft @ key)[took_all].double(), tolerance=1e-5)
    picked = key.gather(1, drawn.clamp(min=0).unsqueeze(2).expand(-1, -1, 5))
    assert_close(out.context[~took_all], picked[~took_all].double())


def test_module_in_evaluation() -> None:
    query, key = torch.randn(2, 3, 5), torch.randn(2, 7, 5)
    soft = (query @ key.mT).softmax(-1)
    assert_close(Attention(Dot(), Hard()).eval()(query, key).weights(), soft.double(), tolerance=1e-5)
    best = Attention(Dot(), Hard(at_test="argmax")).eval()(query, key)
    assert torch.equal(best.alignment(), soft.argmax(-1))
    assert (best.weights().sum(-1) == 1).all()
    drawn = Attention(Dot(), Hard(at_test="sample")).eval()(query, key)
    assert torch.equal(drawn.alignment(), drawn.sample.key.squeeze(1))


def test_step_by_step_is_the_same_process() -> None:
    """The switch stays with its sequence, and the log-probabilities are those of what was drawn at each step."""
    attention = Attention(Dot(), Hard())
    query, key, mask = torch.randn(32, 4, 3), torch.randn(32, 7, 3), Mask.padding([7] * 31 + [0])
    memory, state, reads = attention.remember(key, mask=mask), None, []
    for row in query.split(1, dim=1):
        reads.append(attention.read(row, memory, state))
        state = reads[-1].state
    sample = Sample.join([read.sample for read in reads])
    assert sample.key.shape == (32, 1, 4)
    switched = sample.key.squeeze(1) == -1
    assert torch.equal(switched.all(1), switched.any(1))
    alpha = (query @ key.mT).softmax(-1).unsqueeze(1)
    log_prob = alpha.gather(3, sample.key.clamp(min=0).unsqueeze(3)).squeeze(3).log()
    assert_close(sample.log_prob, log_prob.masked_fill(sample.key == -1, 0.0).double(), tolerance=1e-5)
    assert (reads[-1].context[31] == 0).all()
    rows = torch.tensor([3, 3, 0])
    assert torch.equal(state.select(rows).align[0], state.align[0][rows])


def test_evaluation_step_by_step_equals_all_at_once() -> None:
    attention = Attention(Dot(), Hard()).eval()
    query, key = torch.randn(2, 4, 3), torch.randn(2, 7, 3)
    out, memory, state = attention(query, key), attention.remember(key), None
    for t in range(4):
        step = attention.read(query[:, t : t + 1], memory, state)
        assert_close(step.context, out.context[:, t : t + 1].double(), tolerance=1e-5)
        state = step.state


def test_the_baseline_moves_after_use_and_in_training_only() -> None:
    loss = Reinforce(reward_weight=1.0, entropy_weight=0.0)
    sample = Sample(torch.zeros(2, 1, 1), torch.tensor([[[-1.0]], [[-1.0]]]), torch.zeros(2, 1, 1))
    log_likelihood = torch.tensor([-2.0, -4.0])
    assert_close(loss(log_likelihood, sample), 3.0 - 3.0)  # -[-3 + (-3 - 0)(-1)]
    assert_close(loss.baseline.value, -0.3)
    assert_close(loss(log_likelihood, sample), 0.3)  # -[-3 + (-3 + 0.3)(-1)]
    assert_close(loss.baseline.value, 0.9 * -0.3 + 0.1 * -3.0)
    loss.eval()(log_likelihood, sample)
    assert_close(loss.baseline.value, -0.57)
    assert "baseline.value" in loss.state_dict()


def test_hard_attention_learns_where_to_look() -> None:
    """One value of three helps: REINFORCE alone moves the energies to it."""
    energy = torch.zeros(3, requires_grad=True)
    log_likelihood_of = torch.tensor([-3.0, -0.1, -3.0])
    loss = Reinforce(reward_weight=1.0)
    optimiser = torch.optim.Adam([energy], lr=0.1)
    for _ in range(60):
        weights, sample = hard_weights(energy.expand(64, 1, 1, 3))
        optimiser.zero_grad()
        loss((weights * log_likelihood_of).sum((1, 2, 3)), sample).backward()
        optimiser.step()
    assert energy.softmax(0)[1] > 0.95


def test_bad_arguments_are_named() -> None:
    energy = torch.randn(2, 3, 5, 7)
    with pytest.raises(ValueError, match=r"hard: energy must be \[B, H, T, S\]; got shape \[5, 7\]"):
        hard_weights(energy[0, 0])
    with pytest.raises(ValueError, match=r"one boolean a sequence, \[B\] = \[2\]; got torch.bool of shape \[3\]"):
        hard_weights(energy, expectation=torch.ones(3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"one number a sequence.*got \[2, 5\] and \[2, 3, 5\]"):
        reinforce_loss(torch.randn(2, 5), hard_weights(energy)[1])
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]; got 1.5"):
        Hard(1.5)
    with pytest.raises(ValueError, match=r"at_test must be one of .*; got 'best'"):
        Hard(at_test="best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"decay must lie in \[0, 1\); got 1.0"):
        MovingBaseline(1.0)
