"""Links from attention: pieces to words, the end, shifts, thresholds, and scores by offset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from regard.alignment.attention_links import attention_links, word_weights, words_of_pieces
from regard.alignment.offsets import offset_scores
from regard.data.fields.tokenizer import Tokenizer

TEXT = "ein  kleines Haus, groß."


@pytest.mark.parametrize("kind", ["characters", "words", "bpe", "unigram", "wordpiece"])
def test_pieces_of_every_tokenizer_belong_to_the_words_between_spaces(kind: Any) -> None:
    tokenizer = Tokenizer.train([TEXT, "ein Haus"], kind=kind, size=None if kind in ("characters", "words") else 300)
    words = words_of_pieces(TEXT, tokenizer.places(TEXT))
    assert len(words) == len(tokenizer.encode(TEXT))
    assert [word for word in words if word >= 0] == sorted(word for word in words if word >= 0)
    assert set(words) - {-1} == {0, 1, 2, 3}
    if kind == "words":
        assert words == [0, 1, 2, 2, 3, 3]  # punctuation is part of the word before it


def test_spaces_belong_to_no_word() -> None:
    tokenizer = Tokenizer.train(["a b"], kind="characters")
    assert words_of_pieces("a b", tokenizer.places("a b")) == [0, -1, 1]


ATTENTION = np.array(
    [
        [0.1, 0.2, 0.3, 0.4],  # predicts the first piece of word 0
        [0.5, 0.1, 0.2, 0.2],  # the second one
        [0.0, 0.0, 0.6, 0.4],  # word 1
        [0.7, 0.1, 0.1, 0.1],  # the end
    ]
)
SOURCE, TARGET = [0, 0, 1, -1], [0, 0, 1, -1]


def test_a_sum_over_source_pieces_and_a_mean_over_target_pieces() -> None:
    found = word_weights(ATTENTION, SOURCE, TARGET, (2, 2))
    np.testing.assert_allclose(found, [[(0.3 + 0.6) / 2, (0.3 + 0.2) / 2], [0.0, 0.6]])


def test_one_step_later_is_the_row_that_reads_a_piece_and_the_last_is_that_of_the_end() -> None:
    found = word_weights(ATTENTION, SOURCE, TARGET, (2, 2), shift=1)
    np.testing.assert_allclose(found, [[(0.6 + 0.0) / 2, (0.2 + 0.6) / 2], [0.8, 0.1]])


def test_rows_outside_are_left_out() -> None:
    np.testing.assert_allclose(word_weights(ATTENTION, SOURCE, TARGET, (2, 2), shift=-1)[0], [0.3, 0.3])
    np.testing.assert_array_equal(word_weights(ATTENTION, SOURCE, TARGET, (2, 2), shift=2)[1], [0.0, 0.0])


def test_the_largest_weight_or_all_above_a_threshold() -> None:
    weights = np.array([[0.2, 0.5, 0.3], [0.0, 0.0, 0.0], [0.4, 0.1, 0.4]])
    assert attention_links(weights) == {(1, 0), (0, 2)}
    assert attention_links(weights, threshold=0.3) == {(1, 0), (2, 0), (0, 2), (2, 2)}
    assert attention_links(np.zeros((0, 3))) == attention_links(np.zeros((3, 0))) == frozenset()


def test_match_and_mass_by_offset() -> None:
    pairs = [([0, 1], [0, 1, -1]), ([0], [0, -1])]
    rows = [np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([[1.0], [1.0]])]
    links = [frozenset({(0, 0), (1, 1)}), frozenset({(0, 0)})]

    def shifted(number: int) -> Any:
        source, target = pairs[number]
        return lambda d: word_weights(rows[number], source, target, (len(source), len(target) - 1), shift=d)

    none, now, later, far = offset_scores([shifted(0), shifted(1)], links, (-5, 0, 1, 2))
    assert none[1:] == (0.0, 0.0, 0)
    assert now[1:] == pytest.approx((2 / 3, (0.9 + 0.2 + 1.0) / 3, 3))
    assert later[1:] == pytest.approx((1.0, (0.8 + 0.7 + 1.0) / 3, 3))
    assert far[1:] == pytest.approx((0.0, 0.3, 1))  # only the first word of the first pair has such a row


def test_a_word_with_several_links_matches_any_and_one_without_does_not_count() -> None:
    weights = np.array([[0.3, 0.3, 0.4], [1.0, 0.0, 0.0]])
    (score,) = offset_scores([lambda d: weights], [frozenset({(0, 0), (2, 0)})], (0,))
    assert score[1:] == pytest.approx((1.0, 0.7, 1))
