"""The registry: one function for training and for `regard evaluate`."""

from __future__ import annotations

import subprocess
import sys

import pytest

import regard.evaluate as evaluate
from regard.evaluate import METRICS, MetricResult, metric


@pytest.mark.parametrize("name", METRICS)
def test_a_perfect_system_has_the_best_value_and_a_signature(name: str) -> None:
    truth = ["3.5", "-1"] if METRICS[name].compares == "numbers" else ["B-X I-X O B-Y O B-Z", "O O O O B-X I-X"]
    right = ["slot[B-X I-X O B-Y O B-Z]", "slot[O O O O B-X I-X]"] if METRICS[name].compares == "records" else truth
    options = {"tokenize": "none"} if name in ("meteor", "cider", "distinct", "repetition") else {}
    found = metric(name, **options)(truth, right)
    perfect = {
        "bleu": 100.0,
        "chrf": 100.0,
        "chrf++": 100.0,
        "meteor": 1 - 0.5 * (2 / 12) ** 3,
        "cider": 8.75,
    }  # words of both weigh 0
    perfect |= {"distinct": 5 / 12}  # of itself: b-x, i-x, o, b-y and b-z
    assert found.value == pytest.approx(perfect.get(name, 1.0 if METRICS[name].higher_is_better else 0.0))
    assert ":" in found.signature
    assert str(found) == f"{found.name} {found.value:#.4g} ({found.signature})"
    assert found.count == 2


@pytest.mark.parametrize("name", METRICS)
def test_each_is_described_and_named_by_itself(name: str) -> None:
    assert METRICS[name].name == name
    assert METRICS[name].what


def test_options_are_fixed_by_name() -> None:
    lower = metric("bleu", lowercase=True)
    assert "case:lc" in lower(["A B C D"], ["a b c d"]).signature
    assert metric("bleu").options == {}
    assert metric("wer", lowercase=True)(["A"], ["a"]).name == "WER"
    assert metric("chrf++").count(["a"], ["a"]).name == "chrF2++"


def test_wrong_names_are_one_sentence_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="no metric 'exactmatch'; did you mean 'exact_match'"):
        metric("exactmatch")
    with pytest.raises(ValueError, match="bleu: there is no option 'tokenizer'; did you mean 'tokenize'"):
        metric("bleu", tokenizer="none")
    with pytest.raises(ValueError, match=r"wer: there is no option 'unit'\. There are lowercase"):
        metric("wer", unit="character")


def test_a_score_prints_four_digits() -> None:
    assert str(MetricResult("BLEU", 100.0, "a:b", 1)) == "BLEU 100.0 (a:b)"
    assert str(MetricResult("WER", 0.31143, "a:b", 1)) == "WER 0.3114 (a:b)"


def test_public_names_exist_and_the_floor_stands_alone() -> None:
    assert len(set(evaluate.__all__)) == len(evaluate.__all__)
    assert all(hasattr(evaluate, name) for name in evaluate.__all__)
    probe = "import sys, regard.evaluate; print([n for n in ('regard.models', 'regard.data') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
