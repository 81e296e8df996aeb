"""Which words are hidden: the shares, what never is, and that it is a function of seed, epoch, text and place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard.data import DataError
from regard.specials import IGNORE, MASK, MASKED
from regard.systems.masked_language_model.masking import TokenMasking

SIZE = 1009
WORDS = np.random.default_rng(0).integers(len(MASKED), SIZE, (400, 100))
NUMBERS = np.arange(len(WORDS))


def hidden(masking: TokenMasking, *seeds: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    return masking(WORDS, NUMBERS, size=SIZE, seeds=seeds)


def test_the_shares_are_those_of_the_paper() -> None:
    given, wanted = hidden(TokenMasking(), 1, 0)
    chosen = wanted != IGNORE
    assert (chosen.sum(1) == 15).all()
    assert (wanted[chosen] == WORDS[chosen]).all()
    assert (given[~chosen] == WORDS[~chosen]).all()
    masked, kept = (given[chosen] == MASK).mean(), (given[chosen] == WORDS[chosen]).mean()
    assert masked == pytest.approx(0.8, abs=0.02)
    assert kept == pytest.approx(0.1, abs=0.02)
    random = given[chosen & (given != MASK) & (given != WORDS)]
    assert random.min() >= len(MASKED)
    assert len(set(random.tolist())) > 300
    places = chosen.mean(0)
    assert places.min() > 0.07
    assert places.max() < 0.24


def test_other_epochs_and_seeds_have_other_masks() -> None:
    masks = [hidden(TokenMasking(), seed, epoch)[1] != IGNORE for seed, epoch in ((1, 0), (1, 1), (2, 0))]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (masks[one] & masks[other]).mean() == pytest.approx(0.15**2, abs=0.005)


def test_a_mask_does_not_depend_on_the_batch() -> None:
    whole = TokenMasking()(WORDS, NUMBERS, size=SIZE, seeds=(1, 2))
    padded = np.pad(WORDS[7:9], ((0, 0), (0, 5)))
    part = TokenMasking()(padded, NUMBERS[7:9], size=SIZE, seeds=(1, 2))
    for one, other in zip(whole, part, strict=True):
        assert (one[7:9] == other[:, :100]).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=30), st.floats(0.01, 1.0), st.booleans())
def test_special_ids_are_never_chosen_and_one_word_always_is(ids: list[int], share: float, whole: bool) -> None:
    row = np.array([ids])
    begins = np.arange(21) % 2 == 0
    given, wanted = TokenMasking(share=share, whole_words=whole)(row, np.array([3]), size=21, seeds=(5,), begins=begins)
    words = row >= len(MASKED)
    assert (wanted[~words] == IGNORE).all()
    assert (given[~words] == row[~words]).all()
    count = int(words.sum())
    least = min(max(round(share * count), 1), count)
    assert (wanted != IGNORE).sum() >= least
    assert whole or (wanted != IGNORE).sum() == least


def test_words_are_hidden_whole() -> None:
    rows = np.array([[6, 7, 9, 8, 11, 13, 6, 3, 9, 10]])  # even ids begin a word; 3 stands between two texts
    begins = np.arange(15) % 2 == 0
    words = [[0, 1, 2], [3, 4, 5], [6], [8], [9]]
    seen = set()
    for number in range(40):
        _, wanted = TokenMasking(whole_words=True)(rows, np.array([number]), size=15, seeds=(0,), begins=begins)
        chosen = np.flatnonzero(wanted[0] != IGNORE).tolist()
        assert chosen in words or sorted(chosen) in [[*one, *other] for one in words for other in words if one < other]
        seen.add(tuple(chosen))
    assert {(0, 1, 2), (3, 4, 5)} <= seen


def test_nothing_to_hide_is_one_sentence() -> None:
    with pytest.raises(DataError, match="a vocabulary of 5 ids has no words"):
        TokenMasking()(WORDS, NUMBERS, size=5, seeds=(0,))
    with pytest.raises(DataError, match="at most 1 together"):
        TokenMasking(masked=0.8, random=0.3)
    with pytest.raises(DataError, match="needs to know where words begin"):
        TokenMasking(whole_words=True)(WORDS, NUMBERS, size=SIZE, seeds=(0,))
