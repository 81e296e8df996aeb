"""Given outputs scored, penalties, unknown words."""

from __future__ import annotations

import math

import pytest
import torch

from regard.decode import Hypothesis, Penalty, Search, generate, replace_unknown, score
from tests.decode.toys import Copy, Markov, Random, sentences
from tests.mechanism import assert_close

EOS = 3


def test_scores_by_hand() -> None:
    """A copying model that is 0.9 sure among 9 tokens: three right words are 0.9³, one wrong word is 0.1 / 8."""
    source = torch.tensor([[4, 5], [4, 5]])
    right, wrong = score(Copy(9), source, None, [[4, 5, EOS], [4, 6]])
    assert right.log_probs == pytest.approx([math.log(0.9)] * 3)
    assert right.score == pytest.approx(3 * math.log(0.9))
    assert wrong.score == pytest.approx(math.log(0.9) + math.log(0.0125))
    assert (right.finished, wrong.finished) == (True, False)
    assert right.alignment is not None
    assert right.alignment.tolist() == [[1, 0], [0, 1], [0, 1]]


def test_lengths_do_not_matter() -> None:
    """Targets of several lengths together, and each alone."""
    model, (source, lengths) = Random(11), sentences(5, 11)
    targets = [[4] * n + [EOS] for n in (3, 1, 6, 2, 5)]
    for row, made in enumerate(score(model, source, lengths, targets)):
        (alone,) = score(model, source[row : row + 1, : lengths[row]], None, [targets[row]])
        assert made.tokens == alone.tokens == tuple(targets[row])
        assert made.log_probs == pytest.approx(alone.log_probs, abs=1e-5)


@pytest.mark.parametrize("strategy", ["greedy", "sample"])
def test_what_a_search_reported(strategy: str) -> None:
    model, (source, lengths) = Random(11), sentences(5, 11)
    search = Search(strategy=strategy, length_penalty="gnmt", coverage=0.2, max_length=8)  # type: ignore[arg-type]
    found = [made for (made,) in generate(model, source, lengths, search)]
    again = score(model, source, lengths, [made.tokens for made in found], penalty=search.penalty)
    for one, other in zip(found, again, strict=True):
        assert one.recompute() == one.score
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert one.alignment is not None
        assert other.alignment is not None
        assert_close(one.alignment, other.alignment, tolerance=1e-5)


def test_wrong_targets() -> None:
    model, source = Copy(9), torch.tensor([[4, 5]])
    with pytest.raises(ValueError, match="one target a source; got 2 targets, 1 sources"):
        score(model, source, None, [[4], [5]])
    with pytest.raises(ValueError, match="target 0 needs at least one token"):
        score(model, source, None, [[]])
    with pytest.raises(ValueError, match="only at its end"):
        score(model, source, None, [[EOS, 4]])


def test_penalties_by_hand() -> None:
    log_probs = [-1.0, -2.0, -3.0, -1.0]
    alignment = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 0.0]])
    assert Penalty().score(log_probs) == -7
    assert Penalty("average").score(log_probs) == -7 / 4
    assert Penalty("average", alpha=0.5).score(log_probs) == -3.5
    assert Penalty("gnmt", alpha=2.0).score(log_probs) == pytest.approx(-7 / 2.25)
    covered = Penalty(coverage=2.0).score(log_probs, alignment)  # coverage 2 (counts as 1), 0.75 and 0.25
    assert covered == pytest.approx(-7 + 2 * (math.log(0.75) + math.log(0.25)))
    assert str(Penalty("average", coverage=0.2)) == "Σ log p / n^1 + 0.2 Σ_s log min(Σ_t a_ts, 1)"
    with pytest.raises(ValueError, match="set coverage=0"):
        Penalty(coverage=1.0).score(log_probs)


def test_the_formula_does_not_change_the_hypothesis() -> None:
    one = Hypothesis.of((4, EOS), (-1.0, -1.0), Penalty("average"), finished=True)
    other = Hypothesis.of((4, EOS), (-1.0, -1.0), Penalty(), finished=True)
    assert (one.score, other.score) == (-1.0, -2.0)


def test_unknown_words() -> None:
    source = ["Herr", "Ngo", "fliegt", "</s>"]
    alignment = torch.tensor([[0.9, 0.1, 0, 0], [0.1, 0.3, 0.2, 0.4], [0, 0.1, 0.9, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    words = ["Mr", "<unk>", "<unk>", "<unk>", "<unk>"]
    assert replace_unknown(words, alignment, source) == ["Mr", "Ngo", "fliegt", "<unk>", "<unk>"]
    translated = replace_unknown(words, alignment, source, dictionary={"fliegt": "flies"})
    assert translated == ["Mr", "Ngo", "flies", "<unk>", "<unk>"]
    assert replace_unknown(["<unk>"], torch.ones(2, 1), ["</s>"]) == ["<unk>"]
    assert words[1] == "<unk>"
    with pytest.raises(ValueError, match=r"at least 5 output words by 3 source words; got shape \[5, 4\]"):
        replace_unknown(words, alignment, source[:3])


def test_a_language_model() -> None:
    made, other = score(Markov(torch.full((5, 5), 0.2)), None, None, [[4, EOS], [4, 4, 4]])
    assert made.score == pytest.approx(2 * math.log(0.2))
    assert other.score == pytest.approx(3 * math.log(0.2))
    assert made.alignment is None
