"""BLEU-n of the notes."""

from __future__ import annotations

import math

import pytest
import sacrebleu

from regard.evaluate import brevity_penalty, note_bleu


@pytest.mark.parametrize("brevity", ["linear", "exponential", "none"])
def test_the_example_of_the_notes(brevity: str) -> None:
    found = note_bleu(["the Taro visited the Hanako"], ["Taro visited Hanako"], order=2, brevity=brevity)
    assert found.value == pytest.approx(math.sqrt(3 / 5 * 1 / 4))
    assert round(found.value, 3) == 0.387
    assert found.name == "BLEU-2"
    assert f"brevity:{brevity}" in found.signature


def test_the_two_penalties_differ_for_a_short_text() -> None:
    reference = ["a b c d e f g"]
    assert note_bleu(["a b c d"], reference, brevity="linear").value == pytest.approx(4 / 7)
    assert note_bleu(["a b c d"], reference, brevity="exponential").value == pytest.approx(math.exp(1 - 7 / 4))
    assert note_bleu(["a b c d"], reference, brevity="none").value == pytest.approx(1.0)
    assert brevity_penalty(0, 7, "exponential") == 0.0
    assert brevity_penalty(8, 7, "exponential") == 1.0


def test_counts_are_clipped_by_the_largest_of_one_reference() -> None:
    """Papineni's example: seven times "the", of which two are in the first reference."""
    texts = ["the the the the the the the"]
    references = [["the cat is on the mat", "there is a cat on the mat"]]
    assert note_bleu(texts, references, order=1).value == pytest.approx(2 / 7)


def test_the_reference_of_closest_length_counts_the_shorter_of_two() -> None:
    assert note_bleu(["a b c"], [["a b c d e f", "a b", "a b c d"]], order=1).value == pytest.approx(1.0)
    assert note_bleu(["a b c"], [["a b c d e f", "a b c d"]], order=1).value == pytest.approx(3 / 4)


def test_no_match_of_some_order_is_zero_not_smoothed() -> None:
    assert note_bleu(["a b c d"], ["d c b a"], order=2).value == 0.0
    assert note_bleu(["a"], ["a"], order=2).value == 0.0
    assert note_bleu([""], ["a"], order=1).value == 0.0


def test_with_the_exponential_penalty_it_is_unsmoothed_bleu_over_a_hundred() -> None:
    texts = ["a man rides a red horse on the beach", "two dogs run across a field of grass"]
    references = ["a man is riding a red horse on the beach today", "two dogs run across a green field of grass"]
    theirs = sacrebleu.corpus_bleu(texts, [references], tokenize="none", smooth_method="none").score
    assert note_bleu(texts, references, brevity="exponential").value == pytest.approx(theirs / 100)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="no brevity penalty 'linaer'; did you mean 'linear'"):
        note_bleu(["a"], ["a"], brevity="linaer")
    with pytest.raises(ValueError, match="order must be 1 or more; got 0"):
        note_bleu(["a"], ["a"], order=0)
