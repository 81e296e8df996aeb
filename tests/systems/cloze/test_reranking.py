"""Re-ranking: n-grams against sums by hand, classes of words, K-best MIRA, and the file of a re-ranker."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data import DataError
from regard.data.word_ngrams import WordNGrams
from regard.systems.cloze.mira import tune_mira
from regard.systems.cloze.reranker import FEATURES, LanguageModelReranker
from regard.systems.cloze.word_classes import word_classes

TEXT = [[0, 0, 1, 3], [0, 1, 1, 0, 3], [1, 1, 2, 3]]


def brute(history: tuple[int, ...], word: int, size: int) -> float:
    """p(word | history) by Witten and Bell, by counting."""
    below = 1 / size if not history else brute(history[1:], word, size)
    length = len(history)
    behind = [
        text[place + length]
        for text in TEXT
        for place in range(len(text) - length)
        if tuple(text[place : place + length]) == history
    ]
    if not behind:
        return below
    kinds = len(set(behind))
    return (behind.count(word) + kinds * below) / (len(behind) + kinds)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_n_grams_are_witten_and_bells(order: int) -> None:
    asked = [[0, 1, 1, 2, 3], [4, 4], [2, 0, 0, 1, 3, 3], [3]]
    expected = [
        sum(np.log(brute(tuple(one[max(0, at - order + 1) : at]), one[at], 5)) for at in range(len(one)))
        for one in asked
    ]
    model = WordNGrams.of(TEXT, 5, order=order)
    assert model.log_probs(asked) == pytest.approx(expected)
    assert WordNGrams.from_arrays(model.arrays()).log_probs(asked) == pytest.approx(expected)


def test_next_words_sum_to_one_even_where_rare_ones_are_left_out() -> None:
    model = WordNGrams.of(TEXT * 2, 5, order=4, least=3)
    for history in ([], [0], [0, 0], [1, 1], [4, 2], [1, 1, 0]):
        before = model.log_probs([history])[0]
        total = sum(np.exp(model.log_probs([[*history, word]])[0] - before) for word in range(5))
        assert total == pytest.approx(1.0)
    assert WordNGrams.of([], 5).log_probs([[1, 2]]) == pytest.approx(2 * np.log(0.2))


def test_words_with_the_same_neighbours_are_one_class() -> None:
    random = np.random.default_rng(0)
    people, deeds = [1, 2, 3, 4], [5, 6, 7]
    text = [[int(random.choice(part)) for part in (people, deeds) * 4] for _ in range(50)]
    found = word_classes(text, 11, classes=3, rounds=10)
    groups = [set(found[part].tolist()) for part in (people, deeds)]
    assert [len(group) for group in groups] == [1, 1]
    assert len(set.union(*groups)) == 2
    assert (found[0], found[10]) == (0, 0)  # words that never occur
    assert word_classes(text, 11, classes=4, least=10**6).max() == 0


def test_mira_finds_the_feature_that_tells() -> None:
    random = np.random.default_rng(1)
    lists, right = [], []
    for _ in range(50):
        features = random.normal(size=(5, 3))
        lists.append(features)
        right.append(int(features[:, 1].argmax()))  # the second feature alone decides
    weights = tune_mira(lists, right)
    assert weights[1] > 3 * np.abs(weights[[0, 2]]).max()
    assert tune_mira([], []) == pytest.approx([1.0])
    assert tune_mira([np.ones((1, 2))], [0]) == pytest.approx([1.0, 0.0])  # a list of one teaches nothing


def test_a_reranker_is_kept_with_its_weights(tmp_path: Path) -> None:
    made = LanguageModelReranker.of(TEXT * 3, 5, order=2, classes=3, n_best=2)
    near = WordNGrams.of([[0, 1], [1, 0]], 3, order=2)
    features = made.features([-0.1, -2.0], [[0, 1], [2, 1]], [[0, 1], [2, 1]], near)
    assert features.shape == (2, len(FEATURES))
    assert made.scores(features) == pytest.approx([-0.1, -2.0])  # of the reader alone before it is tuned
    tuned = made.tuned([features], [1])
    assert tuned == made  # weights are no part of what decides numbers
    tuned.save(tmp_path / "reranker.json")
    loaded = LanguageModelReranker.load(tmp_path / "reranker.json")
    assert loaded == made
    assert loaded.weights == tuned.weights
    assert loaded.scores(features) == pytest.approx(features @ np.array(tuned.weights))
    assert LanguageModelReranker.of(TEXT, 5) != made
    (tmp_path / "reranker.json").write_text('{"order": 2}')
    with pytest.raises(DataError, match=r"reranker\.json is not a re-ranker"):
        LanguageModelReranker.load(tmp_path / "reranker.json")
