"""Beam search: exact where the beam is wide enough, and the same whatever is beside a sentence in its batch."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor

from regard.decode import Ensemble, Generates, Hypothesis, Penalty, Search, generate, score
from regard.decode.candidates import stable_topk
from regard.decode.search import Strategy
from regard.specials import BOS, PAD
from tests.decode.toys import Copy, Markov, Random, sentences
from tests.mechanism import assert_close

A, B, EOS = 4, 5, 3
NEVER = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
# The garden path: A begins likelier, but everything that begins with B ends better.
GARDEN = [NEVER, NEVER, [0, 0, 0, 0.0, 0.6, 0.4], NEVER, [0, 0, 0, 0.5, 0.25, 0.25], [0, 0, 0, 0.9, 0.05, 0.05]]

SEARCHES = [
    Search(beam_size=5, n_best=5, max_length=9),
    Search(beam_size=5, n_best=5, max_length=9, length_penalty="none", exact=True),
    Search(beam_size=4, n_best=4, max_length=9, length_penalty="gnmt", alpha=0.6, coverage=0.3, exact=True),
    Search(beam_size=4, n_best=4, max_ratio=2.0, min_ratio=0.5, coverage=0.2),
    Search(beam_size=6, n_best=6, max_length=9, groups=3, diversity=0.7),
    Search(beam_size=6, n_best=6, max_length=9, groups=2, diversity=0.4, exact=True, coverage=0.1),
]


def assert_same(found: list[Hypothesis], expected: list[Hypothesis]) -> None:
    """The same hypotheses in the same order; numbers up to the rounding of the model's matrix products."""
    assert [made.tokens for made in found] == [made.tokens for made in expected]
    assert [made.finished for made in found] == [made.finished for made in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-5)
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
        assert one.alignment is not None
        assert other.alignment is not None
        assert_close(one.alignment, other.alignment, tolerance=1e-5)


def test_garden_path_by_hand() -> None:
    """Greedily A ends at 0.6 · 0.5 = 0.30; a beam of two sees that B ends at 0.4 · 0.9 = 0.36."""
    model = Markov(GARDEN)
    (greedy,) = generate(model, batch=1, search=Search(strategy="greedy"))[0]
    best, second = generate(model, batch=1, search=Search(beam_size=2, n_best=2, length_penalty="none"))[0]
    assert greedy.tokens == second.tokens == (A, EOS)
    assert best.tokens == (B, EOS)
    assert math.exp(best.score) == pytest.approx(0.36)
    assert math.exp(second.score) == pytest.approx(0.30)
    assert best.output == (B,)
    assert best.finished


def enumerate_all(log_probs: Tensor, longest: int, penalty: Penalty) -> list[tuple[bool, float, tuple[int, ...]]]:
    """Every output of a Markov chain with its score, straight from the table; the finished ones first, best first."""
    size, found = log_probs.shape[0], []
    for n in range(1, longest + 1):
        for words in itertools.product(range(size), repeat=n):
            ended = words[-1] == EOS
            if EOS in words[:-1] or not (ended or n == longest) or {0, 2} & set(words):
                continue
            each = [float(log_probs[before, after]) for before, after in itertools.pairwise((2, *words))]
            found.append((not ended, -penalty.score(each), words))
    return sorted(found)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "penalty", [Penalty(), Penalty("average"), Penalty("gnmt", alpha=0.6), Penalty("average", alpha=2.0)], ids=str
)
def test_a_wide_beam_is_brute_force(penalty: Penalty, exact: bool) -> None:
    for _ in range(5):
        model = Markov(torch.softmax(2 * torch.randn(6, 6), -1))
        every = enumerate_all(model.log_probs, 4, penalty)
        search = Search(
            beam_size=4**4,
            n_best=len(every),
            max_length=4,
            length_penalty=penalty.length,
            alpha=penalty.alpha,
            exact=exact,
        )
        (found,) = generate(model, batch=1, search=search)
        assert [made.tokens for made in found] == [words for _, _, words in every]
        assert [-made.score for made in found] == [value for _, value, _ in every]


@pytest.mark.parametrize("search", SEARCHES, ids=range(len(SEARCHES)))
def test_the_batch_does_not_matter(search: Search) -> None:
    """Seven at once, one at a time, in another order, with more padding: the same n-best lists."""
    model = Random(11)
    source, lengths = sentences(7, 11)
    together = generate(model, source, lengths, search)
    order = torch.randperm(7)
    shuffled = generate(model, source[order], lengths[order], search)
    padded = generate(model, torch.nn.functional.pad(source, (0, 3), value=9), lengths, search)
    for row in range(7):
        alone = generate(model, source[row : row + 1, : lengths[row]], None, search)[0]
        assert len(alone) == search.n_best or search.groups > 1
        assert_same(alone, together[row])
        assert_same(padded[row], together[row])
    for place, row in enumerate(order.tolist()):
        assert_same(shuffled[place], together[row])


@pytest.mark.parametrize("search", SEARCHES, ids=range(len(SEARCHES)))
def test_n_best_only_says_how_many(search: Search) -> None:
    model = Random(11)
    source, lengths = sentences(5, 11)
    all_of_them = generate(model, source, lengths, search)
    for n_best in (1, 3):
        settings = {**search.__dict__, "n_best": n_best}
        for few, many in zip(generate(model, source, lengths, Search(**settings)), all_of_them, strict=True):
            # With groups, the n-th best of all may be the worse ones of a good group: only the first is promised.
            promised = n_best if search.groups == 1 else 1
            assert_same(few[:promised], many[:promised])


@pytest.mark.parametrize("search", SEARCHES, ids=range(len(SEARCHES)))
def test_scores_can_be_recomputed_and_are_those_of_the_model(search: Search) -> None:
    model = Random(11)
    source, lengths = sentences(5, 11)
    for row, found in enumerate(generate(model, source, lengths, search)):
        assert found == sorted(found, key=lambda made: (not made.finished, -made.score))
        assert len({made.tokens for made in found}) == len(found)
        for made in found:
            assert made.recompute() == made.score
            forced = score(model, source[row : row + 1], lengths[row : row + 1], [made.tokens], penalty=search.penalty)
            assert_same(forced, [made])


def test_an_exact_search_finds_what_ends_late() -> None:
    """An end at once has mean log 0.7 = -0.36; the chain 4, 5, 6 has log 0.3 / 4 = -0.30, ended next only -0.60."""
    table = torch.zeros(7, 7)
    table[2, EOS], table[2, 4], table[4, 5], table[5, 6], table[6, EOS] = 0.7, 0.3, 1.0, 1.0, 1.0
    found = [generate(Markov(table), batch=1, search=Search(beam_size=1, exact=exact))[0][0] for exact in (False, True)]
    assert [made.tokens for made in found] == [(EOS,), (4, 5, 6, EOS)]
    assert found[1].score == pytest.approx(math.log(0.3) / 4)


def test_rows_that_are_done_leave_the_batch() -> None:
    seen = []

    class Watching(Copy):
        def step(self, token: Tensor, state):  # type: ignore[no-untyped-def]
            seen.append(len(token))
            return super().step(token, state)

    source = torch.tensor([[4, 0, 0, 0], [5, 6, 7, 8]])
    generate(Watching(9), source, torch.tensor([1, 4]), Search(beam_size=3, length_penalty="none"))
    assert seen[:2] == [2, 6], "the empty hypothesis is read once, whatever the width"
    assert seen[-1] == 3


def test_alignments_follow_the_beam() -> None:
    """A copying model attends to what it says, so every hypothesis is the diagonal, whatever the beam did."""
    source, lengths = torch.tensor([[4, 7, 5, 0], [8, 6, 4, 7]]), torch.tensor([3, 4])
    for row, found in enumerate(generate(Copy(9), source, lengths, Search(n_best=4, beam_size=4))):
        size = int(lengths[row])
        assert found[0].output == tuple(source[row, :size].tolist())
        for made in found:
            assert made.alignment is not None
            assert made.alignment.shape == (len(made.tokens), size)
            looked = [min(place, size - 1) for place in range(len(made.tokens))]
            assert made.alignment.argmax(1).tolist() == looked


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_alignments_of_long_outputs(strategy: Strategy) -> None:
    source = torch.arange(4, 44).repeat(2, 1)
    found = generate(Copy(44), source, torch.tensor([40, 21]), Search(strategy=strategy))
    for (made,), size in zip(found, (40, 21), strict=True):
        assert made.alignment is not None
        assert made.alignment.argmax(1).tolist() == [*range(size), size - 1]
        assert made.alignment.sum(1).tolist() == [1.0] * (size + 1)


def test_coverage_prefers_what_read_its_source() -> None:
    """Ending after one of three words leaves one unread (EOS looked at the second): β · log 10⁻⁴ of coverage."""
    source = torch.tensor([[4, 5, 6]])
    penalty = Penalty(coverage=0.1)
    short, whole = score(Copy(9, 0.5), source.repeat(2, 1), None, [(4, EOS), (4, 5, 6, EOS)], penalty=penalty)
    assert whole.score == pytest.approx(4 * math.log(0.5))
    assert short.score == pytest.approx(math.log(0.5) + math.log(0.5 / 8) + 0.1 * math.log(1e-4))


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_lengths(strategy: str) -> None:
    model = Random(11)
    source, lengths = sentences(6, 11)
    search = Search(strategy=strategy, min_length=3, max_length=5)  # type: ignore[arg-type]
    for (made,) in generate(model, source, lengths, search):
        assert 3 <= len(made.tokens) <= 5
        assert made.finished == (made.tokens[-1] == EOS)
        assert {0, 2, 3}.isdisjoint(made.output)
    search = Search(strategy=strategy, max_ratio=1.5, max_length=8, min_ratio=0.75)  # type: ignore[arg-type]
    for length, (made,) in zip(lengths.tolist(), generate(model, source, lengths, search), strict=True):
        most = min(8, math.ceil(1.5 * length))
        assert min(math.ceil(0.75 * length), most) <= len(made.tokens) <= most


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_an_end_at_once(strategy: str) -> None:
    model = Markov([NEVER] * 6)
    for (made,) in generate(model, batch=2, search=Search(strategy=strategy)):  # type: ignore[arg-type]
        assert (made.tokens, made.output, made.score, made.finished) == ((EOS,), (), 0.0, True)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_no_end_by_the_greatest_length(strategy: str) -> None:
    on = [0, 0, 0, 0, 1.0, 0]
    for (made,) in generate(Markov([on] * 6), batch=2, search=Search(strategy=strategy, max_length=3)):  # type: ignore[arg-type]
        assert (made.tokens, made.output, made.finished) == ((A, A, A), (A, A, A), False)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_no_way_on(strategy: str) -> None:
    """A model that can only end, and may not yet: what there is comes back, unfinished."""
    for (made,) in generate(Markov([NEVER] * 6), batch=1, search=Search(strategy=strategy, min_length=2)):  # type: ignore[arg-type]
        assert (made.tokens, made.finished, made.recompute()) == ((), False, 0.0)


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_nothing_to_do(strategy: str) -> None:
    source, lengths = torch.zeros(0, 4, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    assert generate(Random(11), source, lengths, Search(strategy=strategy)) == []  # type: ignore[arg-type]


def test_equals_go_by_id() -> None:
    """All tokens alike at every step: the smallest ids first, on every machine."""
    model = Markov(torch.full((50, 50), 1 / 50))
    found = generate(model, batch=1, search=Search(beam_size=4, n_best=4, max_length=2, length_penalty="none"))[0]
    assert [made.tokens for made in found] == [(3,), (1, 3), (1, 1), (1, 4)]


def test_equals_are_looked_for_only_where_they_are() -> None:
    """One row with equals across the border, one without: both in the order of a stable sort."""
    values = torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0], [5.0, 1.0, 4.0, 3.0, 2.0]])
    found, index = stable_topk(values, 2)
    assert index.tolist() == [[1, 2], [0, 2]]
    assert found.tolist() == [[3.0, 3.0], [5.0, 4.0]]


@pytest.mark.parametrize("size", [8000, 8013])
def test_the_best_of_many_rows_are_those_of_a_sort(size: int) -> None:
    """Many rows are looked through by columns; whole numbers give equals within and across them."""
    values = torch.randint(0, 4 * size, (40, size)).float()
    ordered, order = values.sort(dim=-1, descending=True, stable=True)
    found, index = stable_topk(values, 15)
    assert torch.equal(found, ordered[:, :15])
    assert torch.equal(index, order[:, :15])


def test_groups_differ() -> None:
    """One sharp peak: a plain beam gives its near copies; groups, none of which ends, must each begin elsewhere."""
    model = Random(23, sharpness=2.0)
    source, lengths = sentences(6, 23)
    wide = {"beam_size": 4, "n_best": 4, "max_length": 6, "forbid": (PAD, BOS, EOS)}
    plain = generate(model, source, lengths, Search(**wide))
    diverse = generate(model, source, lengths, Search(**wide, groups=4, diversity=100.0))
    for narrow, broad in zip(plain, diverse, strict=True):
        assert len({made.tokens[0] for made in broad}) == 4
        assert sum(made.score for made in broad) <= sum(made.score for made in narrow) + 1e-9
    assert any(len({made.tokens[0] for made in narrow}) < 4 for narrow in plain)


def test_groups_of_one_without_strength_are_greedy() -> None:
    model = Random(11)
    source, lengths = sentences(4, 11)
    both = Search(beam_size=2, n_best=2, groups=2, max_length=7), Search(strategy="greedy", max_length=7)
    for found, (greedy,) in zip(*(generate(model, source, lengths, search) for search in both), strict=True):
        assert greedy.tokens in [made.tokens for made in found]  # both groups say it; then they may go on elsewhere


def test_a_language_model_on_an_ensemble() -> None:
    models: list[Generates] = [Markov(GARDEN), Markov(GARDEN)]
    (made,) = generate(Ensemble(models), batch=1, search=Search(beam_size=2, length_penalty="none"))[0]
    assert made.tokens == (B, EOS)
    assert made.alignment is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"strategy": "bem"}, "strategy is one of greedy, beam, sample; got 'bem'"),
        ({"n_best": 6}, "n_best=6 is more than beam_size=5"),
        ({"strategy": "greedy", "n_best": 2}, 'n_best=2 with strategy "greedy"'),
        ({"min_length": 4, "max_length": 3}, "lengths need 1 <= min_length <= max_length; got 4 and 3"),
        ({"min_ratio": 2.0, "max_ratio": 1.0}, "min_ratio=2.0 is greater than max_ratio=1.0"),
        ({"max_ratio": 0.0}, "max_ratio multiplies"),
        ({"groups": 2}, "beam_size=5 cannot be split into 2 groups"),
        ({"diversity": 0.5}, "diversity=0.5 acts between groups"),
        ({"length_penalty": "wu"}, "the length penalty is one of none, average, gnmt; got 'wu'"),
        ({"alpha": -1.0}, "alpha >= 0"),
        ({"temperature": 0.5}, 'temperature=0.5 is for strategy "sample"; the strategy is "beam"'),
        ({"strategy": "sample", "temperature": 0.0}, "temperature must be positive"),
        ({"strategy": "sample", "top_p": 1.5}, "top_p is a probability"),
        ({"strategy": "sample", "top_k": 0}, "top_k is at least 1"),
    ],
)
def test_wrong_settings(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Search(**settings)  # type: ignore[arg-type]


def test_wrong_requests() -> None:
    source, lengths = sentences(2, 11)
    with pytest.raises(ValueError, match=r"call model\.eval"):
        generate(Random(11).train(), source, lengths)
    with pytest.raises(ValueError, match="say how many rows"):
        generate(Markov(GARDEN))
    with pytest.raises(ValueError, match="for each of the 2 sources"):
        generate(Random(11), source, torch.tensor([1, 99]))
    with pytest.raises(ValueError, match="need sources with lengths"):
        generate(Markov(GARDEN), batch=1, search=Search(max_ratio=2.0))
    with pytest.raises(ValueError, match="a coverage penalty needs a model that attends"):
        generate(Markov(GARDEN), source, lengths, Search(coverage=0.1))
