"""The ways to look: what REINFORCE estimates, exactly; the table."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
import torch
from benchmarks.lookers import (
    WAYS,
    WIDTH,
    Batch,
    Loss,
    Network,
    Reinforced,
    attended,
    enumerated,
    expected_loss,
    marginal_loss,
    rewarded_loss,
    rows_of,
    shuffled,
)
from benchmarks.looking_table import LATER, SIZES, draw, table
from benchmarks.soft_and_hard import Given
from torch import Tensor, nn

from regard.nn import Hard, Reinforce
from regard.specials import BOS, EOS, PAD
from tests.mechanism import assert_close

STATES, STEPS = 3, 2
KEYS = list(itertools.product(range(STATES), repeat=2 * STEPS))
"""All draws of two texts together."""


@pytest.fixture
def network() -> Network:
    torch.manual_seed(1)
    made = Network(Given(), 7, Hard(0.0, at_test="sample")).double()
    nn.init.normal_(made.attention.score.weight, std=1.0)  # draws that are not all alike
    return made


@pytest.fixture
def batch() -> Batch:
    """Two texts of two symbols, the second of one: a word and an end, an end."""
    torch.manual_seed(2)
    target = torch.tensor([[BOS, 5, EOS], [BOS, EOS, PAD]])
    return Batch(torch.randn(2, STATES, WIDTH, dtype=torch.float64), None, target)


def slopes(network: Network, loss: Tensor) -> Tensor:
    found = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    return torch.cat([one.flatten() for one in found if one is not None])


def baseline(value: float) -> Reinforce:
    made = Reinforce(reward_weight=1.0, entropy_weight=0.0).eval()
    made.baseline.value.fill_(value)
    return made


@pytest.mark.parametrize(
    "loss", [Reinforced(), Reinforced(baseline(-0.7)), rewarded_loss], ids=["none", "moving", "batch"]
)
def test_the_expectation_of_reinforce_over_all_draws_is_the_exact_gradient(
    network: Network, batch: Batch, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    mean: Tensor | float = 0.0
    total = 0.0
    for keys in KEYS:
        drawn = torch.tensor(keys).view(2, 1, STEPS, 1)
        monkeypatch.setattr("regard.ops.hard._choose", lambda *_, drawn=drawn: drawn)
        probability = attended(network, batch).extras["sample_log_prob"].sum().exp().item()
        mean, total = mean + probability * slopes(network, loss(network, batch)), total + probability
    assert total == pytest.approx(1.0)
    assert isinstance(mean, Tensor)
    exact = slopes(network, expected_loss(network, batch))
    assert exact.abs().max() > 1e-3
    assert_close(mean, exact, tolerance=1e-10)


def test_the_marginal_sums_over_all_draws(network: Network, batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    log_alpha, _ = enumerated(network, batch)
    likelihood, expectation = torch.zeros(2).double(), torch.zeros(2).double()
    for keys in KEYS:
        drawn = torch.tensor(keys).view(2, 1, STEPS, 1)
        monkeypatch.setattr("regard.ops.hard._choose", lambda *_, drawn=drawn: drawn)
        predicted = attended(network, batch)
        said = predicted.logits.log_softmax(-1).gather(2, batch.wanted.unsqueeze(2)).squeeze(2)
        said = said.masked_fill(batch.wanted == PAD, 0.0).sum(1)
        chance = (
            predicted.extras["sample_log_prob"].sum((1, 2)).exp() / STATES**STEPS
        )  # the other text goes through all
        likelihood += chance * said.exp()
        expectation += chance * said
        assert_close(predicted.extras["sample_log_prob"][0, 0, 0], log_alpha[0, 0, keys[0]], tolerance=1e-12)
    assert_close(marginal_loss(network, batch), -likelihood.log().mean(), tolerance=1e-10)
    assert_close(expected_loss(network, batch), -expectation.mean(), tolerance=1e-10)
    assert marginal_loss(network, batch) < expected_loss(network, batch)  # Jensen


@pytest.mark.parametrize("name", WAYS)
def test_padding_and_other_texts_change_no_loss(name: str) -> None:
    torch.manual_seed(1)
    network, way = Network(Given(), 9, WAYS[name].align()).double(), WAYS[name]
    states = torch.randn(2, 13, WIDTH, dtype=torch.float64)
    target = torch.tensor([[BOS, 5, 6, 5, EOS], [BOS, 7, EOS, PAD, PAD]])
    whole = Batch(states, None, target)
    each = [way.nll(network, rows_of(whole, torch.tensor([row]))) for row in range(2)]
    assert_close(way.nll(network, whole), torch.stack(each).mean(), tolerance=1e-8)


def test_batches_are_all_rows_in_another_order_each_epoch() -> None:
    whole = Batch(torch.arange(7.0).view(7, 1), None, torch.full((7, 2), BOS))
    first, second = (torch.cat([one.source for one in itertools.islice(shuffled(whole, 4, 1), start, start + 2)])
                     for start in (0, 2))  # fmt: skip
    assert sorted(first.flatten().tolist()) == sorted(second.flatten().tolist()) == list(range(7))
    assert first.tolist() != second.tolist()


def test_the_table_says_what_was_reached(tmp_path: Path) -> None:
    name, other = "soft", "hard, REINFORCE"
    results = {
        "variance": {
            f"{way} after {updates}": {"variance": value, "bias": 1.0, "deterministic": float(value == 0)}
            for way, value in ((name, 0.0), (other, 12.0))
            for updates in (0, LATER)
        },
        "cost": {name: {str(size): 0.5 * size / SIZES[0] for size in SIZES}},
        "dates": {
            name: [[[0, 9.0], [updates, loss]] for updates, loss in ((40, 2.0), (60, 1.0), (80, 2.5))],
            other: [[[0, 9.0], [1000, 8.0]]],
            "CTC": [[[0, 9.0], [updates, loss]] for updates, loss in ((1000, 4.0), (60, 1.0), (80, 2.5))],
        },
    }
    rows = {row.split(" | ")[0].strip("| "): row for row in table(results).splitlines()}
    cost = f"0.50 | {0.5 * SIZES[-1] / SIZES[0]:.2f} | S^1.00"
    assert rows[name] == f"| soft | yes | yes | {cost} | 0 | 0 | 60 (40 to 80) |  |"
    assert "| no | unbiased estimate" in rows[other]
    assert "> 1,000 (8.0 nats then)" in rows[other]
    assert rows["CTC"].endswith("| 80 (60 to > 1,000) |  |")
    draw(results, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert math.isclose(sum(results["cost"][name].values()), 0.5 * sum(SIZES) / SIZES[0])
