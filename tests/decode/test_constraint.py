"""Constraints: a set of allowed outputs, and given beginnings."""

from __future__ import annotations

import pytest
import torch

from regard.decode import ConstrainedModel, Ensemble, PrefixConstraint, Search, Trie, generate, score
from tests.decode.toys import Markov, Random, sentences
from tests.mechanism import assert_close

EOS = 3
SET = [(4, 5), (4, 5, 6), (7,), (8, 8, 8, 8), (4, 9, 5)]
ENDED = {(*output, EOS) for output in SET}


def words(mask: torch.Tensor) -> list[list[int]]:
    return [row.nonzero().flatten().tolist() for row in mask]


def test_the_tree() -> None:
    trie = Trie(SET)
    state = trie.start(3, torch.tensor(0).device)
    assert words(trie.allowed(state, 11)) == [[4, 7, 8]] * 3
    state = trie.advance(state, torch.tensor([4, 7, 10]))
    assert words(trie.allowed(state, 11)) == [[5, 9], [EOS], []]
    state = trie.advance(state.index_select(0, torch.tensor([0, 0, 2])), torch.tensor([5, 9, 4]))
    assert words(trie.allowed(state, 11)) == [[EOS, 6], [5], []]


@pytest.mark.parametrize("strategy", ["greedy", "sample", "beam"])
def test_only_the_set_is_said(strategy: str) -> None:
    model, (source, lengths) = Random(11), sentences(6, 11)
    n_best = 1 if strategy == "greedy" else 5
    search = Search(strategy=strategy, n_best=n_best)  # type: ignore[arg-type]
    for row, found in enumerate(generate(ConstrainedModel(model, Trie(SET)), source, lengths, search)):
        assert all(made.finished for made in found)
        assert {made.tokens for made in found} <= ENDED
        if strategy == "beam":
            assert {made.tokens for made in found} == ENDED
        for made in found:
            args = source[row : row + 1], lengths[row : row + 1], [made.tokens]
            assert score(model, *args, penalty=search.penalty)[0].score == pytest.approx(made.score, abs=1e-5)


def test_a_beam_over_the_set_is_scoring_it() -> None:
    model, (source, lengths) = Random(11), sentences(4, 11)
    search = Search(n_best=5, length_penalty="none")
    for row, found in enumerate(generate(ConstrainedModel(model, Trie(SET)), source, lengths, search)):
        each = (source[row : row + 1].repeat(5, 1), lengths[row : row + 1].repeat(5), sorted(ENDED))
        ranked = sorted(score(model, *each), key=lambda made: -made.score)
        assert [made.tokens for made in found] == [made.tokens for made in ranked]


def test_a_constraint_in_an_ensemble() -> None:
    source, lengths = sentences(3, 11)
    model = Ensemble([ConstrainedModel(Random(11), Trie(SET)), Random(11)], average="log_probabilities")
    for found in generate(model, source, lengths, Search(n_best=2)):
        assert {made.tokens for made in found} <= ENDED


@pytest.mark.parametrize("strategy", ["greedy", "sample", "beam"])
def test_prefixes(strategy: str) -> None:
    model, (source, lengths) = Random(11), sentences(3, 11)
    prefixes = [[7, 4], [], [5, 5, 9]]
    search = Search(strategy=strategy, n_best=1 if strategy == "greedy" else 3, max_length=6)  # type: ignore[arg-type]
    found = generate(ConstrainedModel(model, PrefixConstraint(prefixes)), source, lengths, search)
    for prefix, row in zip(prefixes, found, strict=True):
        assert len(row) == search.n_best
        assert all(list(made.tokens[: len(prefix)]) == prefix for made in row)
    free = generate(model, source[1:2], lengths[1:2], search)[0]
    assert [made.tokens for made in free] == [made.tokens for made in found[1]]


def test_prompts_of_a_language_model() -> None:
    on = torch.softmax(torch.randn(9, 9), -1)
    search = Search(strategy="sample", n_best=2, max_length=5, min_length=5)
    four, five = generate(ConstrainedModel(Markov(on), PrefixConstraint([[4], [5, 6]])), batch=2, search=search)
    assert len(four) == len(five) == 2
    assert all(made.tokens[:1] == (4,) for made in four)
    assert all(made.tokens[:2] == (5, 6) for made in five)


def test_ensembles_average() -> None:
    """Of (0.9, 0.1) and (0.5, 0.5): the mean is (0.7, 0.3); √0.45 : √0.05 = 3 : 1, so the other is (0.75, 0.25)."""
    row = torch.tensor([0, 0, 0, 0.9, 0.1]), torch.tensor([0, 0, 0, 0.5, 0.5])
    models = [Markov(each.repeat(5, 1)) for each in row]
    token = torch.tensor([2])
    for average, expected in (("probabilities", 0.7), ("log_probabilities", 0.75)):
        ensemble = Ensemble(models, average=average)  # type: ignore[arg-type]
        log_probs = ensemble.step(token, ensemble.start(None, None, batch=1)).log_probs
        assert_close(log_probs.exp()[0, 3], expected)
        assert_close(log_probs.exp().sum(), 1.0)


def test_ensembles_align() -> None:
    models, (source, lengths) = [Random(11), Random(11)], sentences(4, 11)
    ensemble = Ensemble(models)
    step = ensemble.step(torch.full((4,), 2), ensemble.start(source, lengths))
    each = [model.step(torch.full((4,), 2), model.start(source, lengths)).attended for model in models]
    assert step.attended is not None
    assert_close(step.attended.weights(), sum(one.weights() for one in each if one is not None) / 2)  # type: ignore[arg-type]
    for row, found in enumerate(generate(ensemble, source, lengths, Search(n_best=3, max_length=6, coverage=0.1))):
        for made in found:
            assert made.alignment is not None
            assert made.alignment.shape == (len(made.tokens), int(lengths[row]))
            assert_close(made.alignment.sum(1), [1.0] * len(made.tokens))


def test_an_ensemble_of_one_is_the_model() -> None:
    model, (source, lengths) = Random(11), sentences(3, 11)
    search = Search(n_best=3, max_length=6)
    for one, other in zip(
        generate(Ensemble([model]), source, lengths, search), generate(model, source, lengths, search), strict=True
    ):
        assert [made.tokens for made in one] == [made.tokens for made in other]


def test_wrong_use() -> None:
    source, lengths = sentences(2, 11)
    with pytest.raises(ValueError, match="at least one; got none"):
        Trie([])
    with pytest.raises(ValueError, match="allowed output 1 needs ids"):
        Trie([[4], [4, EOS, 5]])
    with pytest.raises(ValueError, match="holds id 12; the model's vocabulary has 11"):
        generate(ConstrainedModel(Random(11), Trie([[12]])), source, lengths)
    with pytest.raises(ValueError, match="got 1 prefixes for 2 rows"):
        generate(ConstrainedModel(Random(11), PrefixConstraint([[4]])), source, lengths)
    with pytest.raises(ValueError, match="at least one model"):
        Ensemble([])
    with pytest.raises(ValueError, match=r"their.* have \[11, 13\] tokens"):
        generate(Ensemble([Random(11), Random(13)]), source, lengths)
    with pytest.raises(ValueError, match="averages probabilities or log_probabilities"):
        Ensemble([Random(11)], average="mean")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"call model\.eval"):
        generate(Ensemble([Random(11), Random(11).train()]), source, lengths)
    with pytest.raises(ValueError, match=r"call model\.eval"):
        generate(ConstrainedModel(Random(11).train(), Trie(SET)), source, lengths)
