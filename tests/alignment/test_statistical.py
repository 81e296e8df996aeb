"""Statistical aligners: expectation and maximisation by hand and by enumeration."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from regard.alignment.diagonal import Diagonal
from regard.alignment.hmm import HMM
from regard.alignment.ibm1 import IBM1
from regard.alignment.lexicon import Lexicon
from regard.alignment.link_candidates import LinkCandidates
from regard.alignment.sentence_pairs import SentencePair
from regard.alignment.statistical import align, fit_aligner, iterations_of
from regard.alignment.word_aligner import WordAligner

HOUSE = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
PAIRS = [(source.split(), target.split()) for source, target in HOUSE]
MIXED = [*PAIRS, (["das", "ist", "ein", "Haus"], ["this", "is", "a", "house", "."]), (["ja"], ["yes", "yes"])]


def probability(aligner: WordAligner, source: str, target: str, pairs: Any = PAIRS) -> float:
    """t(target | source), from the first pair with both."""
    for number, (words, others) in enumerate(pairs):
        if source in words and target in others:
            cells = np.arange(len(aligner.cells))[aligner.cells.of_pair(number)].reshape(len(others), len(words) + 1)
            cell = cells[others.index(target), words.index(source) + 1]
            return float(aligner.lexicon.probability[aligner.cells.entry[cell]])
    raise AssertionError("no pair with both")


@pytest.mark.parametrize(
    ("iterations", "wanted"),
    [
        (1, {("das", "the"): 0.5, ("das", "house"): 0.25, ("Haus", "house"): 0.5, ("Buch", "book"): 0.5}),
        (2, {("das", "the"): 0.6364, ("das", "book"): 0.1818, ("Haus", "house"): 0.5714, ("ein", "book"): 0.4286}),
        (3, {("das", "the"): 0.7479, ("das", "house"): 0.1313, ("Haus", "the"): 0.3466, ("ein", "a"): 0.6534}),
    ],
)
def test_ibm1_has_the_values_of_the_textbook(iterations: int, wanted: dict[tuple[str, str], float]) -> None:
    """Koehn 2010, Statistical Machine Translation, figure 4.4."""
    aligner = IBM1(LinkCandidates(PAIRS), null=0.0)
    aligner.fit(iterations)
    for (source, target), value in wanted.items():
        assert probability(aligner, source, target) == pytest.approx(value, abs=6e-5)


def test_the_first_step_with_a_null_word_by_hand() -> None:
    aligner = IBM1(LinkCandidates([(["x", "y"], ["z"])]), null=0.2)
    assert aligner.expect().tolist() == pytest.approx([0.2, 0.4, 0.4])  # all words translate alike


@pytest.mark.parametrize("make", [IBM1, lambda cells: HMM(cells, smoothing=0.0)])
def test_the_likelihood_never_falls(make: Any) -> None:
    aligner = make(LinkCandidates(MIXED))
    aligner.fit(7)
    assert len(aligner.log_likelihoods) == 7
    assert all(after >= before - 1e-9 for before, after in pairwise(aligner.log_likelihoods))
    assert aligner.log_likelihoods[-1] > aligner.log_likelihoods[0] + 1


def joint(aligner: HMM, lexical: np.ndarray[Any, Any], links: tuple[int, ...]) -> tuple[float, list[int]]:
    """p(target, links | source) and the widths of the jumps; -1 is no link."""
    source, place, total, jumps = lexical.shape[1] - 1, -1, 1.0, []
    moves = aligner.transitions(source)
    for row, link in enumerate(links):
        if link < 0:
            total *= aligner.null * lexical[row, 0]
            continue
        total *= moves[place + 1, link] * lexical[row, link + 1]
        jumps.append(link - place)
        place = link
    return total, jumps


def test_forward_backward_is_the_sum_over_all_alignments() -> None:
    pairs = [(["a", "b", "c"], ["x", "y", "z", "y"]), (["c", "a"], ["y", "x"])]
    aligner = HMM(LinkCandidates(pairs), null=0.15, smoothing=0.3)
    random = np.random.default_rng(0)
    aligner.lexicon.probability = random.uniform(0.1, 1.0, len(aligner.lexicon.probability))
    aligner.jumps = random.uniform(0.5, 2.0, len(aligner.jumps))
    found = aligner.expect()
    likelihood, counts = 0.0, np.zeros_like(aligner.jumps)
    for number, (source, target) in enumerate(pairs):
        shape = (len(target), len(source) + 1)
        lexical = aligner.lexicon.of_cells()[aligner.cells.of_pair(number)].reshape(shape)
        wanted, total = np.zeros(shape), 0.0
        every = [
            (links, *joint(aligner, lexical, links)) for links in product(range(-1, len(source)), repeat=len(target))
        ]
        total = sum(weight for _, weight, _ in every)
        for links, weight, jumps in every:
            for row, link in enumerate(links):
                wanted[row, link + 1] += weight / total
            for jump in jumps:
                counts[jump + 3 - 1] += weight / total
        np.testing.assert_allclose(found[aligner.cells.of_pair(number)].reshape(shape), wanted, rtol=1e-10)
        likelihood += math.log(total)
    assert aligner.log_likelihoods == pytest.approx([likelihood])
    aligner.maximise(found)
    np.testing.assert_allclose(aligner.jumps, counts, rtol=1e-10)


def test_transitions_are_distributions() -> None:
    moves = HMM(LinkCandidates(MIXED), null=0.2).transitions(4)
    assert moves.shape == (5, 4)
    np.testing.assert_allclose(moves.sum(1), 0.8)


def test_the_diagonal_prior_by_hand() -> None:
    aligner = Diagonal(LinkCandidates([(["a", "b"], ["x", "y", "z"])]), null=0.1, tension=2.0)
    found = aligner.expect().reshape(3, 3)
    first, second = math.exp(-2 * abs(1 / 2 - 2 / 3)), math.exp(-2 * abs(2 / 2 - 2 / 3))
    assert found[1].tolist() == pytest.approx([0.1, 0.9 * first / (first + second), 0.9 * second / (first + second)])


@pytest.mark.parametrize("turn", [False, True])
def test_the_tension_grows_where_links_are_on_the_diagonal(turn: bool) -> None:
    drawn = np.random.default_rng(0).integers(0, 30, (80, 6)).tolist()
    texts = [[f"w{number}" for number in row] for row in drawn]
    pairs = [(text, [word.upper() for word in (text[::-1] if turn else text)]) for text in texts]
    aligner = Diagonal(LinkCandidates(pairs), tension=2.0)
    aligner.fit(6)
    assert (aligner.tension < 1.0) if turn else (aligner.tension > 4.0)


def test_the_prior_keeps_distributions_below_one_and_zero_is_none() -> None:
    cells = LinkCandidates(PAIRS)
    posteriors = IBM1(cells).expect()
    sums = []
    for prior in (0.0, 0.01):
        lexicon = Lexicon(cells, prior=prior)
        lexicon.update(posteriors)
        sums.append(np.bincount(cells.source_of, lexicon.probability))
    np.testing.assert_allclose(sums[0], 1.0)
    assert (sums[1] < 1.0).all()


@pytest.mark.parametrize("name", ["ibm1", "diagonal", "hmm"])
def test_pairs_with_a_blank_side_have_no_links_and_change_nothing(name: Any) -> None:
    blank: Any = [([], ["x"]), (["das"], []), ([], [])]
    alone, beside = fit_aligner(PAIRS, name).links(), fit_aligner([blank[0], *PAIRS, *blank[1:]], name).links()
    assert beside == [frozenset(), *alone, frozenset(), frozenset()]
    assert fit_aligner(blank, name).links() == [frozenset()] * 3
    assert fit_aligner([], name).links() == []


@pytest.mark.parametrize("name", ["ibm1", "diagonal", "hmm"])
def test_both_directions_are_joined_and_case_does_not_count(name: Any) -> None:
    pairs = [SentencePair(*text) for text in HOUSE] * 4
    done: list[int] = []
    links = align(pairs, name, progress=done.append)
    assert links[0] == {(0, 0), (1, 1)}
    assert sum(done) == 2 * iterations_of(name)
    assert align([SentencePair(one.source.upper(), one.target) for one in pairs], name) == links


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ValueError, match=r"'giza'.*hmm"):
        fit_aligner(PAIRS, "giza")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"1\.0"):
        IBM1(LinkCandidates(PAIRS), null=1.0)
