"""CIDEr-D and BLEU-n of captions against pycocoevalcap, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.evaluate import caption_bleu, caption_words, cider, cider_tally, meteor
from tests.evaluate.pairs import BOTH, FIRST, HYPOTHESES

# pycocoevalcap 1.2, Cider and Bleu(4), on the pairs as they are.
CIDER_BOTH, CIDER_FIRST = 2.686745723769782, 1.894353845941779
CIDER_EACH = (4.309264, 2.208568, 3.765006, 4.328586, 2.532923)
BLEU = (0.8923766816103481, 0.7448795910370049, 0.5674235467730333, 0.3943337190611264)


def test_cider_is_that_of_pycocoevalcap() -> None:
    assert cider(HYPOTHESES, BOTH).value == pytest.approx(CIDER_BOTH, rel=1e-12)
    assert cider(HYPOTHESES, FIRST).value == pytest.approx(CIDER_FIRST, rel=1e-12)
    assert cider_tally(HYPOTHESES, BOTH).rows[:5, 0] == pytest.approx(CIDER_EACH, abs=5e-7)


def test_bleu_is_that_of_pycocoevalcap() -> None:
    """Theirs adds 1e-15 to the matches and 1e-9 to the numbers of n-grams."""
    assert [caption_bleu(HYPOTHESES, BOTH, order=n).value for n in (1, 2, 3, 4)] == pytest.approx(BLEU, rel=1e-10)


def test_words_are_those_of_the_coco_evaluation() -> None:
    """As PTBTokenizer of pycocoevalcap 1.2 splits them."""
    texts = {
        "A man's dog, isn't it? It's well-fed!": "a man 's dog is n't it it 's well-fed",
        "Two people (a man and a woman) can't swim.": "two people -lrb- a man and a woman -rrb- ca n't swim",
        'A sign that says "STOP" on 5th avenue.': "a sign that says stop on 5th avenue",
        "a t-shirt, blue/green; it reads 'hello'": "a t-shirt blue/green it reads hello",
        "Children don't play: they're sleeping.": "children do n't play they 're sleeping",
        "U.S. flag at 10:30 a.m. on the wall .": "u.s. flag at 10:30 a.m. on the wall",
        "A boy & his dog cannot jump 1,000 feet": "a boy & his dog can not jump 1,000 feet",
        "It costs $3.50 -- or 4 euros...": "it costs $ 3.50 or 4 euros",
    }
    assert {text: " ".join(caption_words(text)) for text in texts} == texts


def test_cider_by_hand() -> None:
    """Each caption is its image's alone, so that equal captions of two words or more have the highest cosine."""
    same = cider(["a b c d", "e f"], ["a b c d", "e f"])
    assert same.value == pytest.approx((10 + 10 * 2 / 4) / 2)
    shorter = cider(["a b", "e f"], ["a b c d", "e f"])
    # Two of four words, one of three pairs; two pairs fewer.
    expected = 10 / 4 * (2 / math.sqrt(2 * 4) + 1 / math.sqrt(3)) * math.exp(-4 / 72)
    assert shorter.value == pytest.approx((expected + 5) / 2)


def test_repeating_a_word_does_not_pay() -> None:
    once, often = (cider([text, "x"], ["dog in snow", "x"]).value for text in ("dog in snow", "dog dog dog"))
    assert often < once


def test_words_of_every_image_weigh_nothing() -> None:
    assert cider(["the", "the"], ["the", "the"]).value == 0.0
    assert cider(["a cat"], ["a cat"]).value == 0.0


def test_document_frequencies_stay_in_a_resample() -> None:
    tally = cider_tally(HYPOTHESES, BOTH)
    assert tally.resampled(np.array([3, 3])) == pytest.approx(tally.rows[3, 0])


def test_no_brevity_penalty_as_xu_et_al_report() -> None:
    short = ["a dog"], [["a dog runs"]]
    assert caption_bleu(*short, order=1, brevity="none").value == 1.0
    assert caption_bleu(*short, order=1).value == pytest.approx(math.exp(1 - 3 / 2))


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="sigma must be positive; got 0"):
        cider(["a"], ["a"], sigma=0)
    with pytest.raises(ValueError, match="no tokenizer 'ptb'"):
        cider(["a"], ["a"], tokenize="ptb")


def test_meteor_of_captions_is_that_of_2005() -> None:
    """METEOR 1.5, which captioning papers report, gives 0.4050 for these (pycocoevalcap 1.2): another scale."""
    found = meteor(HYPOTHESES, BOTH)
    assert found.value == pytest.approx(0.7471, abs=5e-5)
    assert "variant:2005" in found.signature
