"""Perplexity and its relatives."""

from __future__ import annotations

import math

import pytest

from regard.evaluate import bits_per_character, nats_per_token, perplexity


def test_the_shannon_game() -> None:
    """1/4 each for operator, sales and support, 1/4 for 30,000 names: 1.5 + (2 + log2 30,000) / 4 = 5.718 bits."""
    bits = 3 / 4 * 2 + 1 / 4 * math.log2(4 * 30_000)
    assert bits == pytest.approx(5.718, abs=1e-3)
    assert perplexity(bits * math.log(2), 1).value == pytest.approx(52.6, abs=0.05)
    assert round(perplexity(bits * math.log(2), 1).value) == 53


@pytest.mark.parametrize(("names", "count"), [(10, 7), (30_000, 3)])
def test_equal_guesses_have_the_perplexity_of_their_number(names: int, count: int) -> None:
    assert perplexity(count * math.log(names), count).value == pytest.approx(names)


def test_certainty_is_one_and_the_impossible_infinite() -> None:
    assert perplexity(0.0, 5).value == 1.0
    assert perplexity(math.inf, 5).value == math.inf
    assert perplexity(1e6, 5).value == math.inf


def test_bits_per_character_do_not_depend_on_the_tokens() -> None:
    text_nats = 30.0
    assert bits_per_character(text_nats, 20).value == pytest.approx(1.5 / math.log(2))
    assert perplexity(text_nats, 5).value != pytest.approx(perplexity(text_nats, 20).value)
    assert nats_per_token(text_nats, 20) == 1.5


def test_the_score_says_the_unit() -> None:
    found = perplexity(7.0, 3, unit="word")
    assert (found.signature, found.count) == ("unit:word|context:true", 3)


@pytest.mark.parametrize(("likelihood", "count"), [(1.0, 0), (-1.0, 3), (math.nan, 3)])
def test_what_cannot_be_is_refused(likelihood: float, count: int) -> None:
    with pytest.raises(ValueError, match=r"perplexity: the .* must be"):
        perplexity(likelihood, count)
