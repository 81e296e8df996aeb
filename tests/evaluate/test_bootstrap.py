"""Paired bootstrap."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest

from regard.evaluate import RecomputedMetric, Tally, bleu, bleu_tally, exact_match_tally, metric, paired_bootstrap

WORDS = ("a", "man", "woman", "dog", "rides", "runs", "sits", "red", "blue", "on", "the", "beach", "street", "near")


def sentences(seed: int, count: int = 120) -> list[str]:
    draw = Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(6, 12))) for _ in range(count)]


def spoil(texts: list[str], seed: int, share: float) -> list[str]:
    """Each word becomes another one with this probability."""
    draw = Random(seed)
    return [" ".join(draw.choice(WORDS) if draw.random() < share else w for w in text.split()) for text in texts]


TRUTH = sentences(0)
GOOD, BAD = spoil(TRUTH, 1, 0.1), spoil(TRUTH, 2, 0.3)


def test_a_system_against_itself() -> None:
    same = paired_bootstrap(bleu_tally(GOOD, TRUTH), bleu_tally(GOOD, TRUTH), samples=200)
    assert (same.difference, same.mean, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 0.0, 1.0)


def test_two_systems_of_equal_quality() -> None:
    """An interval of 95% misses 0 once in twenty times; here it may miss once in ten."""
    found = [metric("bleu").compare(GOOD, spoil(TRUTH, seed, 0.1), TRUTH, samples=200) for seed in range(5, 15)]
    assert sum(one.low < 0 < one.high for one in found) >= 9
    assert sum(one.p_value > 0.05 for one in found) >= 9


def test_a_system_that_is_clearly_better() -> None:
    found = metric("bleu").compare(BAD, GOOD, TRUTH)
    assert found.p_value < 0.01
    assert 0 < found.low < found.difference < found.high
    assert found.difference == pytest.approx(bleu(GOOD, TRUTH).value - bleu(BAD, TRUTH).value)
    back = metric("bleu").compare(GOOD, BAD, TRUTH)
    assert (back.low, back.high, back.p_value) == pytest.approx((-found.high, -found.low, found.p_value))


def test_the_p_value_is_honest_when_there_is_no_difference() -> None:
    """Two systems that are right by the same coin: at most about 1 in 10 comparisons falls below 0.1."""
    coin, truth = np.random.default_rng(0), [str(at) for at in range(60)]
    below = 0
    for seed in range(100):
        first, second = (
            exact_match_tally([text if coin.random() < 0.5 else "?" for text in truth], truth) for _ in range(2)
        )
        below += paired_bootstrap(first, second, samples=100, seed=seed).p_value < 0.1
    assert 2 <= below <= 20


@pytest.mark.parametrize("share", [0.1, 0.12, 0.2])
def test_the_other_p_value_is_that_of_sacrebleu(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same seed, which draws the same sentences."""
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    other = spoil(TRUTH, 3, share)
    systems = [("first", GOOD), ("second", other)]
    _, scores = PairedTest(systems, {"BLEU": BLEU()}, [TRUTH], test_type="bs", n_samples=200)()
    found = metric("bleu").compare(GOOD, other, TRUTH, samples=200, seed=7)
    assert found.sacrebleu_p_value == scores["BLEU"][1].p_value
    assert found.p_value >= found.sacrebleu_p_value


@pytest.mark.parametrize(("deviations", "two_sided", "of_sacrebleu"), [(0.25, 0.8026, 0.2983), (2.0, 0.0455, 0.0218)])
def test_both_p_values_are_those_of_theory(deviations: float, two_sided: float, of_sacrebleu: float) -> None:
    """A mean of many draws is normal: Δ so many standard deviations from 0."""
    draw = np.random.default_rng(3).normal(size=4000)
    draw = (draw - draw.mean()) / draw.std() + deviations / np.sqrt(len(draw))
    mean = [
        Tally("mean", np.stack((row, np.ones(4000)), 1), lambda s: float(s[0] / s[1]), "") for row in (0 * draw, draw)
    ]
    found = paired_bootstrap(*mean, samples=10000)
    assert found.p_value == pytest.approx(two_sided, rel=0.07)
    assert found.sacrebleu_p_value == pytest.approx(of_sacrebleu, rel=0.1)


def test_the_interval_is_that_of_theory() -> None:
    """400 sentences, one system right in half of them, the other in all: Δ = 0.5 ± 1.96 √(0.25 / 400)."""
    truth = [str(at) for at in range(400)]
    half, whole = exact_match_tally(truth[:200] + ["?"] * 200, truth), exact_match_tally(truth, truth)
    found = paired_bootstrap(half, whole, samples=4000)
    assert (found.low, found.high) == pytest.approx((0.5 - 0.049, 0.5 + 0.049), abs=0.006)
    assert found.mean == pytest.approx(0.5, abs=0.002)


def test_a_tally_and_a_callable_agree() -> None:
    references = [[text] for text in TRUTH]
    by_sum = paired_bootstrap(bleu_tally(BAD, TRUTH), bleu_tally(GOOD, TRUTH), samples=20, seed=7)
    recounted = paired_bootstrap(
        RecomputedMetric(bleu, BAD, references), RecomputedMetric(bleu, GOOD, references), samples=20, seed=7
    )
    assert recounted[:-1] == pytest.approx(by_sum[:-1])


def test_the_seed_decides() -> None:
    def run(seed: int) -> float:
        return metric("chrf").compare(BAD, GOOD, TRUTH, samples=30, seed=seed).mean

    assert run(1) == run(1) != run(2)


@pytest.mark.parametrize("name", ["chrf", "ter", "meteor", "wer", "note_bleu", "accuracy", "f1"])
def test_every_metric_can_be_compared(name: str) -> None:
    found = metric(name).compare(BAD, GOOD, TRUTH, samples=50)
    assert (found.difference > 0) == metric(name).higher_is_better
    assert found.p_value < 0.05


def test_what_cannot_be_paired_is_refused() -> None:
    with pytest.raises(ValueError, match="the systems have 120 and 119 sentences"):
        paired_bootstrap(bleu_tally(BAD, TRUTH), bleu_tally(GOOD[1:], TRUTH[1:]))
    with pytest.raises(ValueError, match="1 sample or more"):
        paired_bootstrap(bleu_tally(BAD, TRUTH), bleu_tally(GOOD, TRUTH), samples=0)
