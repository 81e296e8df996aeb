"""BLEU, chrF and TER are sacrebleu's own numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu

from regard.evaluate import bleu, bleu_tally, chrf, ter

HYPOTHESES = ["The dog bit the man.", "It was not unexpected.", "The man bit him first, then left."]
FIRST = ["The dog bit the man.", "It was not unexpected.", "The man bit him first."]
SECOND = ["The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."]
BOTH = list(zip(FIRST, SECOND, strict=True))


def test_bleu_is_that_of_sacrebleu() -> None:
    assert bleu(HYPOTHESES, BOTH).value == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [FIRST, SECOND]).score)
    assert bleu(HYPOTHESES, FIRST).value == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [FIRST]).score)
    theirs = sacrebleu.corpus_bleu(HYPOTHESES, [SECOND], lowercase=True, tokenize="none").score
    assert bleu(HYPOTHESES, SECOND, lowercase=True, tokenize="none").value == pytest.approx(theirs)


def test_chrf_and_ter_are_those_of_sacrebleu() -> None:
    assert chrf(HYPOTHESES, BOTH).value == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [FIRST, SECOND]).score)
    theirs = sacrebleu.corpus_chrf(HYPOTHESES, [SECOND], word_order=2).score
    assert chrf(HYPOTHESES, SECOND, word_order=2).value == pytest.approx(theirs)
    assert chrf(HYPOTHESES, SECOND, word_order=2).name == "chrF2++"
    assert ter(HYPOTHESES, BOTH).value == pytest.approx(sacrebleu.corpus_ter(HYPOTHESES, [FIRST, SECOND]).score)
    theirs = sacrebleu.corpus_ter(HYPOTHESES, [SECOND], case_sensitive=True, normalized=True).score
    assert ter(HYPOTHESES, SECOND, lowercase=False, normalized=True).value == pytest.approx(theirs)


def test_bleu_by_hand() -> None:
    """Precisions 5/6, 3/5, 2/4, 1/3 and no penalty."""
    expected = 100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert bleu(["the cat sat on a mat"], ["the cat sat on the mat"]).value == pytest.approx(expected)
    short = bleu(["the cat sat on"], ["the cat sat on the mat"])
    assert short.value == pytest.approx(100 * math.exp(1 - 6 / 4))


def test_the_signature_says_case_tokenizer_and_references() -> None:
    printed = str(bleu(HYPOTHESES, BOTH, tokenize="none", lowercase=True))
    assert printed.startswith("BLEU ")
    assert f"nrefs:2|case:lc|eff:no|tok:none|smooth:exp|version:{sacrebleu.__version__}" in printed
    assert "nrefs:var" in bleu(HYPOTHESES, [FIRST[:1], FIRST[1:], FIRST[2:]]).signature
    assert "case:mixed" in ter(HYPOTHESES, FIRST, lowercase=False).signature


def test_a_different_number_of_references_for_each_sentence() -> None:
    """A reference given twice changes nothing."""
    assert bleu(HYPOTHESES, [BOTH[0], (*BOTH[1], BOTH[1][0]), BOTH[2]]).value == pytest.approx(
        bleu(HYPOTHESES, BOTH).value
    )


def test_the_score_of_a_corpus_is_not_the_mean_over_sentences() -> None:
    whole = bleu(HYPOTHESES, SECOND).value
    mean = np.mean([bleu([text], [truth]).value for text, truth in zip(HYPOTHESES, SECOND, strict=True)])
    assert whole != pytest.approx(mean, rel=0.01)


def test_a_tally_scores_any_choice_of_sentences() -> None:
    tally = bleu_tally(HYPOTHESES, BOTH)
    picks = [2, 0, 2]
    chosen = bleu([HYPOTHESES[at] for at in picks], [BOTH[at] for at in picks])
    assert tally.resampled(np.array(picks)) == pytest.approx(chosen.value)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="bleu: there is no tokenizer '13b'; did you mean '13a'"):
        bleu(HYPOTHESES, FIRST, tokenize="13b")
    with pytest.raises(ValueError, match="chrf: word_order must be 0 or more and beta 1 or more; got -1 and 2"):
        chrf(HYPOTHESES, FIRST, word_order=-1)
