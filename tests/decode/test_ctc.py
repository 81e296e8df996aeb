"""Decoding of CTC outputs against all paths, and against a plain loop."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import pytest
import torch
from torch import Tensor

from regard.decode import FusionLanguageModel, ctc_beam_search, ctc_frames, ctc_greedy
from regard.ops import ctc_alignment
from tests.decode.toys import Markov, Random
from tests.mechanism import assert_close


def emissions(batch: int, frames: int, symbols: int, sharpness: float = 1.0) -> Tensor:
    return (sharpness * torch.randn(batch, frames, symbols, dtype=torch.float64)).log_softmax(-1)


def collapse(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(symbol for symbol, _ in itertools.groupby(path) if symbol != blank)


def all_transcripts(log_probs: Tensor, blank: int) -> dict[tuple[int, ...], float]:
    """p(y | x) of every y, by all V^T paths of one row."""
    frames, symbols = log_probs.shape
    found: dict[tuple[int, ...], float] = defaultdict(float)
    table = log_probs.tolist()
    for path in itertools.product(range(symbols), repeat=frames):
        found[collapse(path, blank)] += math.exp(sum(table[t][symbol] for t, symbol in enumerate(path)))
    return found


def plain_search(log_probs: Tensor, beam_size: int, blank: int) -> list[tuple[tuple[int, ...], float]]:
    """Prefix beam search of one row, as one writes it first: dictionaries and probabilities."""
    beam = {(): (1.0, 0.0)}
    for frame in log_probs.exp().tolist():
        after: dict[tuple[int, ...], list[float]] = defaultdict(lambda: [0.0, 0.0])
        for prefix, (in_blank, in_symbol) in beam.items():
            after[prefix][0] += (in_blank + in_symbol) * frame[blank]
            for symbol, likely in enumerate(frame):
                if symbol == blank:
                    continue
                if prefix and symbol == prefix[-1]:
                    after[prefix][1] += in_symbol * likely
                    after[*prefix, symbol][1] += in_blank * likely
                else:
                    after[*prefix, symbol][1] += (in_blank + in_symbol) * likely
        best = sorted(after.items(), key=lambda item: -sum(item[1]))[:beam_size]
        beam = {prefix: (sums[0], sums[1]) for prefix, sums in best}
    return [(prefix, math.log(sum(sums))) for prefix, sums in sorted(beam.items(), key=lambda item: -sum(item[1]))]


@pytest.mark.parametrize(("frames", "symbols", "blank"), [(5, 3, 0), (5, 3, 1), (4, 4, 3), (7, 2, 0), (1, 5, 2)])
def test_a_wide_beam_finds_every_transcript_with_its_probability(frames: int, symbols: int, blank: int) -> None:
    log_probs = emissions(2, frames, symbols)
    for row, found in zip(log_probs, ctc_beam_search(log_probs, blank=blank, beam_size=400, n_best=400), strict=True):
        expected = all_transcripts(row, blank)
        assert {made.tokens for made in found} == set(expected)
        for made in found:
            assert made.log_prob == made.score == pytest.approx(math.log(expected[made.tokens]), abs=1e-12)
        assert sum(math.exp(made.log_prob) for made in found) == pytest.approx(1.0, abs=1e-12)
        assert [made.score for made in found] == sorted((made.score for made in found), reverse=True)


def test_log_probabilities_are_the_likelihoods_of_the_loss() -> None:
    log_probs, lengths = emissions(3, 7, 3, 2.0), torch.tensor([7, 4, 6])
    for row, found in enumerate(ctc_beam_search(log_probs, lengths, beam_size=600, n_best=600)):
        for made in found[:20]:
            target = torch.tensor([made.tokens], dtype=torch.long).view(1, -1)
            truth = ctc_alignment(log_probs[row : row + 1], target, lengths[row : row + 1]).log_likelihood
            assert_close(torch.tensor([made.log_prob], dtype=torch.float64), truth, tolerance=1e-12)


@pytest.mark.parametrize("beam_size", [1, 3, 16])
def test_a_narrow_beam_is_that_of_the_plain_loop(beam_size: int) -> None:
    """Prefixes that were dropped and return are the same prefixes."""
    log_probs = emissions(5, 23, 7, 1.5)
    found = ctc_beam_search(log_probs, blank=2, beam_size=beam_size, n_best=beam_size)
    for row, made in zip(log_probs, found, strict=True):
        expected = plain_search(row, beam_size, 2)
        assert [each.tokens for each in made] == [prefix for prefix, _ in expected]
        assert [each.log_prob for each in made] == pytest.approx([likely for _, likely in expected], abs=1e-10)


def test_the_best_transcript_is_not_that_of_the_best_path() -> None:
    log_probs = torch.tensor([[[0.6, 0.4], [0.6, 0.4]]]).log()
    assert ctc_greedy(log_probs)[0].tokens == ()
    [[best]] = ctc_beam_search(log_probs)
    assert best.tokens == (1,)
    assert best.log_prob == pytest.approx(math.log(0.64))


@pytest.mark.parametrize("blank", [0, 3, 5])
def test_answers_depend_neither_on_the_batch_nor_on_the_padding(blank: int) -> None:
    log_probs, lengths = emissions(7, 19, 6, 2.0), torch.tensor([19, 3, 0, 11, 1, 19, 8])
    together = ctc_beam_search(log_probs, lengths, blank=blank, beam_size=5, n_best=3)
    greedy = ctc_greedy(log_probs, lengths, blank=blank)
    rubbish = log_probs.clone()
    for row, length in enumerate(lengths.tolist()):
        alone = log_probs[row : row + 1, :length]
        assert ctc_beam_search(alone, blank=blank, beam_size=5, n_best=3)[0] == together[row]
        assert ctc_greedy(alone, blank=blank)[0] == greedy[row]
        rubbish[row, length:] = float("nan")
    assert ctc_beam_search(rubbish, lengths, blank=blank, beam_size=5, n_best=3) == together


def test_where_the_blank_is_does_not_matter() -> None:
    log_probs = emissions(3, 13, 5, 2.0)
    moved = log_probs[:, :, [1, 2, 3, 4, 0]]  # the blank from 0 to 4
    first = ctc_beam_search(log_probs, beam_size=6, n_best=6)
    other = ctc_beam_search(moved, blank=4, beam_size=6, n_best=6)
    for one, two in zip(first, other, strict=True):
        assert [made.tokens for made in one] == [tuple(symbol + 1 for symbol in made.tokens) for made in two]
        assert [made.log_prob for made in one] == pytest.approx([made.log_prob for made in two], abs=1e-12)


def test_empty_transcripts_and_empty_batches() -> None:
    silent = torch.tensor([[[0.99, 0.01]] * 4]).double().log()
    assert ctc_greedy(silent)[0].tokens == ctc_beam_search(silent)[0][0].tokens == ()
    nothing = ctc_beam_search(silent, torch.tensor([0]), n_best=3)
    assert [(made.tokens, made.log_prob, made.frames) for made in nothing[0]] == [((), 0.0, ())]
    assert ctc_greedy(silent, torch.tensor([0]))[0].frames == ()
    assert ctc_beam_search(silent[:0]) == ctc_greedy(silent[:0]) == []
    assert ctc_beam_search(silent[:, :0])[0][0].tokens == ()


def test_impossible_symbols_are_never_there() -> None:
    probs = torch.tensor([[[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]]).double()
    found = ctc_beam_search(probs.log(), beam_size=8, n_best=8)[0]
    assert {made.tokens: made.log_prob for made in found} == {(1,): math.log(0.5), (1, 2): math.log(0.5)}


@pytest.mark.parametrize("blank", [0, 2])
def test_frames_are_those_of_the_best_path(blank: int) -> None:
    log_probs, lengths = emissions(4, 6, 3, 1.5), torch.tensor([6, 5, 6, 3])
    for row, found in enumerate(ctc_beam_search(log_probs, lengths, blank=blank, beam_size=40, n_best=12)):
        table = log_probs[row, : lengths[row]].tolist()
        paths = list(itertools.product(range(3), repeat=int(lengths[row])))
        for made in found:
            fitting = [path for path in paths if collapse(path, blank) == made.tokens]
            best = max(fitting, key=lambda path: sum(table[t][symbol] for t, symbol in enumerate(path)))
            edges = [t for t in range(len(best)) if t == 0 or best[t] != best[t - 1]] + [len(best)]
            runs = [(a, b) for a, b in itertools.pairwise(edges) if best[a] != blank]
            assert list(made.frames) == runs


def test_frames_of_a_given_transcript_by_hand() -> None:
    """The second 1 needs a blank before it, though a blank is unlikely everywhere."""
    log_probs = torch.tensor([[[0.1, 0.9], [0.2, 0.8], [0.1, 0.9]]]).log()
    assert ctc_frames(log_probs, [[1, 1]]) == [((0, 1), (2, 3))]
    assert ctc_frames(log_probs, [[1]]) == [((0, 3),)]
    with pytest.raises(ValueError, match="transcript 0 has no alignment with 3 frames"):
        ctc_frames(log_probs, [[1, 1, 1]])


def markov(size: int) -> Markov:
    """A language model over `size` tokens that never says PAD or BOS."""
    table = torch.rand(size, size, dtype=torch.float64) + 0.1
    table[:, [0, 2]] = 0.0
    return Markov(table / table.sum(1, keepdim=True))


def test_a_language_model_ranks_transcripts() -> None:
    """score = log p_ctc + α log p_lm with EOS + β |y|, for every transcript there is."""
    log_probs, model, alpha, beta = emissions(2, 5, 3), markov(9), 0.7, 0.4
    ids = [0, 4, 7]
    fusion = FusionLanguageModel(model, alpha, beta, ids)
    for row, found in zip(
        log_probs, ctc_beam_search(log_probs, beam_size=99, n_best=99, language_model=fusion), strict=True
    ):
        expected = {}
        for tokens, likely in all_transcripts(row, 0).items():
            text = [2, *(ids[symbol] for symbol in tokens), 3]
            language = sum(float(model.log_probs[a, b]) for a, b in itertools.pairwise(text))
            expected[tokens] = math.log(likely) + alpha * language + beta * len(tokens)
        assert {made.tokens for made in found} == set(expected)
        for made in found:
            assert made.score == pytest.approx(expected[made.tokens], abs=1e-12)
        assert found[0].tokens == max(expected, key=lambda tokens: expected[tokens])


class Sourceless(Random):
    """A GRU language model: the toy that attends, with a source of its own."""

    def start(self, source: Tensor | None, lengths: Tensor | None, *, batch: int | None = None):  # type: ignore[no-untyped-def]
        source = torch.full((batch or 0, 1), 5)
        return super().start(source, torch.ones(len(source), dtype=torch.long))


def test_a_recurrent_language_model_reads_each_prefix_from_its_parent() -> None:
    model, log_probs, lengths = Sourceless(11), emissions(4, 17, 11, 1.5), torch.tensor([17, 5, 0, 11])
    found = ctc_beam_search(
        log_probs, lengths, beam_size=6, n_best=6, language_model=FusionLanguageModel(model, 0.6, 0.2)
    )
    alone = [
        ctc_beam_search(row[None, :length], beam_size=6, n_best=6, language_model=FusionLanguageModel(model, 0.6, 0.2))[
            0
        ]
        for row, length in zip(log_probs, lengths, strict=True)
    ]
    for made, other in zip(itertools.chain(*found), itertools.chain(*alone), strict=True):
        assert made.tokens == other.tokens
        assert made.score == pytest.approx(other.score, abs=1e-5)
        state, language = model.start(None, None, batch=1), 0.0
        for token, following in itertools.pairwise((2, *made.tokens, 3)):
            step = model.step(torch.tensor([token]), state)
            state, language = step.state, language + float(step.log_probs.detach()[0, following])
        expected = made.log_prob + 0.6 * language + 0.2 * len(made.tokens)
        assert made.score == pytest.approx(expected, abs=1e-4)


def test_a_language_model_that_forbids_a_symbol_wins() -> None:
    table = torch.full((6, 6), 0.25)
    table[:, [0, 2]] = 0.0
    table[:, 5] = 0.0
    log_probs = torch.tensor([[[0.1, 0.0, 0.0, 0.0, 0.3, 0.6]]]).double().log()
    [found] = ctc_beam_search(log_probs, n_best=4, language_model=FusionLanguageModel(Markov(table), 1.0))
    assert {made.tokens for made in found} == {(), (4,)}


def test_wrong_use_is_named() -> None:
    log_probs = emissions(2, 3, 4)
    with pytest.raises(ValueError, match=r"\[B, T, V\]"):
        ctc_greedy(log_probs[0])
    with pytest.raises(ValueError, match="the blank must be one of the 4 symbols, 0 to 3; got 4"):
        ctc_beam_search(log_probs, blank=4)
    with pytest.raises(ValueError, match="n_best=5 and beam_size=2"):
        ctc_beam_search(log_probs, beam_size=2, n_best=5)
    with pytest.raises(ValueError, match=r"from 0 to 3 for each of the 2 rows; got \[4, 1\]"):
        ctc_greedy(log_probs, torch.tensor([4, 1]))
    with pytest.raises(ValueError, match="one transcript per row"):
        ctc_frames(log_probs, [[1]])
    with pytest.raises(ValueError, match="one token per symbol, 4; got 2"):
        ctc_beam_search(log_probs, language_model=FusionLanguageModel(markov(9), ids=[1, 2]))
    with pytest.raises(ValueError, match="token 12 of the language model, which has 9"):
        ctc_beam_search(log_probs, language_model=FusionLanguageModel(markov(9), ids=[1, 2, 4, 12]))
    with pytest.raises(ValueError, match=r"model\.eval"):
        ctc_beam_search(log_probs, language_model=FusionLanguageModel(Sourceless(4).train()))
