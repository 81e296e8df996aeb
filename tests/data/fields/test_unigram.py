"""The unigram model: probabilities against all ways to cut a word, and pieces that save the most."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest

from regard.data import Tokenizer
from regard.data.fields import unigram as module
from regard.data.fields.unigram import learn_pieces

COUNTS = {"▁lower": 7, "▁newer": 6, "▁low": 5, "▁new": 9, "▁wider": 3, "▁newest": 2, "▁lo": 1}


def ways(word: str) -> list[list[str]]:
    """All ways to cut a word."""
    inner = range(1, len(word))
    cuts = [(0, *some, len(word)) for count in range(len(word)) for some in combinations(inner, count)]
    return [[word[a:b] for a, b in pairwise(cut)] for cut in cuts]


def spelt(text: module._Text, pieces: module._Pieces) -> list[str]:
    return [
        "".join(text.alphabet[code] for code in text.codes[start : start + length])
        for start, length in zip(pieces.starts, pieces.lengths, strict=True)
    ]


def test_expectations_are_those_over_all_ways() -> None:
    text = module._Text.of(COUNTS)
    pieces = module._seeds(text)
    scores = dict(zip(spelt(text, pieces), pieces.scores, strict=True))
    expected = dict.fromkeys(scores, 0.0)
    for word, count in COUNTS.items():
        found = [way for way in ways(word) if all(piece in scores for piece in way)]
        likely = [math.exp(sum(scores[piece] for piece in way)) for way in found]
        for way, probability in zip(found, likely, strict=True):
            for piece in way:
                expected[piece] += count * probability / sum(likely)
    assert module._expected(text, pieces) == pytest.approx(list(expected.values()), rel=1e-9)


def test_the_best_way_is_the_likeliest_of_all() -> None:
    text = module._Text.of(COUNTS)
    pieces = module._seeds(text)
    names = spelt(text, pieces)
    scores = dict(zip(names, pieces.scores, strict=True))
    for whole in (True, False):
        for lattice in text.lattices:
            cut: list[list[str]] = [[] for _ in lattice.starts]
            for rows, ids in module._best(lattice, pieces, whole=whole):
                for row, number in zip(rows, ids, strict=True):
                    cut[row].insert(0, names[number])
            for row, start in enumerate(lattice.starts):
                word = "".join(text.alphabet[code] for code in text.codes[start : start + lattice.length])
                likely = max(
                    sum(scores[piece] for piece in way)
                    for way in ways(word)
                    if all(piece in scores for piece in way) and (whole or len(way) > 1)
                )
                assert "".join(cut[row]) == word
                assert sum(scores[piece] for piece in cut[row]) == pytest.approx(likely)


def test_seeds_are_substrings_that_occur_again_and_go_on_in_several_ways() -> None:
    text = module._Text.of({"abcd": 3, "xabc": 2, "q": 1})
    assert set(spelt(text, module._seeds(text))) == {*"abcdxq", "abc", "bc", "abcd", "bcd", "cd", "xabc"}


def test_probabilities_add_up_and_all_characters_are_there() -> None:
    for size in (15, 20, 30):
        pieces = learn_pieces(COUNTS, size)
        assert len(pieces) <= size
        assert set("".join(COUNTS)) <= {piece.text for piece in pieces}
        assert [piece.score for piece in pieces] == sorted((piece.score for piece in pieces), reverse=True)
        assert sum(math.exp(piece.score) for piece in pieces) <= 1.0 + 1e-9
    assert len(learn_pieces(COUNTS, 3)) == len(set("".join(COUNTS)))


def test_more_pieces_need_fewer_of_them() -> None:
    texts = ["the lower houses", "the newer house is lower", "a newest lowest house"] * 5
    counts = [len(Tokenizer.train(texts, kind="unigram", size=size).encode(texts[1])) for size in (22, 30, 60)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_words_beyond_what_is_learned_from_leave_their_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHARACTERS", 12)
    assert {"x", "y", "ab"} <= {piece.text for piece in learn_pieces({"ab": 9, "abab": 8, "xyxyxyxyxyxyxy": 1}, 20)}


def test_words_of_any_length_are_learned_from() -> None:
    pieces = learn_pieces({"ab" * 400: 2, "a": 1}, 30)
    assert max(len(piece.text) for piece in pieces) <= module.LONGEST
    assert "abab" in "".join(piece.text for piece in pieces)


def test_digamma_grows_by_the_recurrence() -> None:
    x = np.array([0.5, 1.0, 7.25, 1e6])
    assert module._digamma(x + 1) - module._digamma(x) == pytest.approx(1 / x, rel=1e-9, abs=1e-12)
