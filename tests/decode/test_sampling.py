"""Ancestral sampling: the right distribution, and the same draws in any batch."""

from __future__ import annotations

import pytest
import torch

from regard.decode import Search, generate
from regard.decode.sampling import nucleus
from tests.decode.toys import Markov, Random, sentences
from tests.mechanism import assert_close

PROBS = [0.0, 0.0, 0.0, 0.1, 0.2, 0.3, 0.4]


def probabilities(**settings: float) -> torch.Tensor:
    return nucleus(torch.tensor([PROBS]).log(), Search(strategy="sample", **settings))[0]  # type: ignore[arg-type]


def test_distributions_by_hand() -> None:
    assert_close(probabilities(), PROBS)
    assert_close(probabilities(top_k=2), [0, 0, 0, 0, 0, 3 / 7, 4 / 7])
    assert_close(probabilities(top_p=0.71), [0, 0, 0, 0, 2 / 9, 3 / 9, 4 / 9])
    assert_close(probabilities(top_p=0.39), [0, 0, 0, 0, 0, 0, 1])
    assert_close(probabilities(top_k=3, top_p=0.7), [0, 0, 0, 0, 0, 3 / 7, 4 / 7])
    assert_close(probabilities(temperature=0.5), [0, 0, 0, 1 / 30, 4 / 30, 9 / 30, 16 / 30])


def test_equals_go_by_id() -> None:
    kept = nucleus(torch.full((1, 5), 0.2).log(), Search(strategy="sample", top_k=2))
    assert_close(kept, [[0.5, 0.5, 0, 0, 0]])


def test_frequencies() -> None:
    """4000 first tokens: each frequency within four standard deviations of its probability."""
    model = Markov(torch.tensor([PROBS] * 7))
    (found,) = generate(model, batch=1, search=Search(strategy="sample", n_best=4000, max_length=1, seed=3))
    counts = torch.bincount(torch.tensor([made.tokens[0] for made in found]), minlength=7).double() / 4000
    expected = torch.tensor(PROBS, dtype=torch.float64)
    assert ((counts - expected).abs() <= 4 * (expected * (1 - expected) / 4000).sqrt()).all()


def test_log_probs_are_the_models_own() -> None:
    """Temperature and top-k say how a token is drawn, not what the model thinks of it."""
    model = Markov(torch.tensor([PROBS] * 7))
    search = Search(strategy="sample", top_k=1, temperature=0.5, max_length=2, length_penalty="none")
    (made,) = generate(model, batch=1, search=search)[0]
    assert made.tokens == (6, 6)
    assert made.log_probs == pytest.approx([torch.tensor(0.4).log().item()] * 2)
    assert made.score == made.recompute() == sum(made.log_probs)


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.5, "top_k": 5}, {"top_p": 0.8}], ids=str)
def test_the_batch_does_not_matter(settings: dict[str, float]) -> None:
    model = Random(11, sharpness=2.0)
    source, lengths = sentences(7, 11)
    search = Search(strategy="sample", n_best=3, max_length=8, **settings)  # type: ignore[arg-type]
    together = [[made.tokens for made in row] for row in generate(model, source, lengths, search)]
    assert len({tokens for row in together for tokens in row}) > 7
    order = torch.randperm(7)
    shuffled = generate(model, source[order], lengths[order], search)
    for place, row in enumerate(order.tolist()):
        assert [made.tokens for made in shuffled[place]] == together[row]
    for row in range(7):
        (alone,) = generate(model, source[row : row + 1, : lengths[row]], None, search)
        assert [made.tokens for made in alone] == together[row]
        first = Search(strategy="sample", max_length=8, **settings)  # type: ignore[arg-type]
        assert generate(model, source[row : row + 1], lengths[row : row + 1], first)[0][0].tokens == together[row][0]


def test_seeds_and_rows_differ() -> None:
    model = Markov(torch.tensor([[0, 0, 0, 0.0] + [0.125] * 8] * 12))
    one, two = generate(model, batch=2, search=Search(strategy="sample", max_length=20))
    (other, _) = generate(model, batch=2, search=Search(strategy="sample", max_length=20, seed=1))
    assert len({one[0].tokens, two[0].tokens, other[0].tokens}) == 3
    assert generate(model, batch=1, search=Search(strategy="sample", max_length=20)) == [one]


def test_an_id_that_the_model_does_not_know_cannot_be_forbidden() -> None:
    with pytest.raises(ValueError, match=r"forbid has the id 99; the model knows \d+ ids from 0 on"):
        generate(Random(7), torch.tensor([[4, 5]]), search=Search(strategy="sample", forbid=(0, 99)))
