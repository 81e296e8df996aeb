"""ROUGE against the package rouge-score, and by hand."""

from __future__ import annotations

from functools import lru_cache
from random import Random

import pytest

from regard.evaluate import metric, rouge, rouge_tally
from tests.evaluate.pairs import BOTH, HYPOTHESES, SUMMARIES, SUMMARY_REFERENCES

# rouge-score 0.1.2: the mean precision, recall and F over the pairs, of the reference with the best F.
CAPTIONS = {
    ("rouge1", False): (0.7623112073112075, 0.7371782846782847, 0.7271665225612595),
    ("rouge2", False): (0.4618894993894994, 0.4653571428571429, 0.4458931954984587),
    ("rougeL", False): (0.7485016835016836, 0.706543364043364, 0.7059894711984497),
    ("rougeLsum", False): (0.7485016835016836, 0.706543364043364, 0.7059894711984497),
    ("rouge1", True): (0.8302356902356903, 0.7631983756983757, 0.7756739124308784),
    ("rouge2", True): (0.5327604802604803, 0.5010978835978837, 0.497882477859258),
    ("rougeL", True): (0.8184367484367486, 0.7523650423650423, 0.7643873627232761),
    ("rougeLsum", True): (0.8184367484367486, 0.7523650423650423, 0.7643873627232761),
}
SUMMARISED = {
    "rouge1": (0.7963255494505495, 0.621911075036075, 0.6851851851851852),
    "rouge2": (0.32371794871794873, 0.25426093514328807, 0.2790476190476191),
    "rougeL": (0.48052884615384617, 0.3640647546897547, 0.4050925925925926),
    "rougeLsum": (0.5502403846153846, 0.4310290404040404, 0.47337962962962965),
}
PARTS = ("precision", "recall", "f")


@pytest.mark.parametrize(("kind", "stem"), CAPTIONS)
def test_captions_score_as_in_rouge_score(kind, stem) -> None:  # type: ignore[no-untyped-def]
    found = [rouge(HYPOTHESES, BOTH, kind=kind, part=part, stem=stem).value for part in PARTS]  # type: ignore[arg-type]
    assert found == pytest.approx(CAPTIONS[kind, stem], rel=1e-12)


@pytest.mark.parametrize("kind", SUMMARISED)
def test_summaries_score_as_in_rouge_score(kind) -> None:  # type: ignore[no-untyped-def]
    found = [rouge(SUMMARIES, SUMMARY_REFERENCES, kind=kind, part=part).value for part in PARTS]  # type: ignore[arg-type]
    assert found == pytest.approx(SUMMARISED[kind], rel=1e-12)


def test_by_hand() -> None:
    """3 of 5 words and 1 of 4 pairs, against 3 words and 2 pairs."""
    system, reference = ["the Taro visited the Hanako"], ["Taro visited Hanako"]
    assert rouge(system, reference, kind="rouge1", part="precision").value == pytest.approx(3 / 5)
    assert rouge(system, reference, kind="rouge1", part="recall").value == 1.0
    assert rouge(system, reference, kind="rouge2").value == pytest.approx(2 / 6)
    assert rouge(system, reference, kind="rougeL").value == pytest.approx(6 / 8)


def test_the_union_of_the_paper() -> None:
    """Lin 2004, section 3.2: w1 w2 w3 w4 w5 with w1 w2 w6 w7 w8 and w1 w3 w8 w9 w5 have the union w1 w2 w3 w5."""
    found = rouge(["w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5"], ["w1 w2 w3 w4 w5"], kind="rougeLsum", part="recall")
    assert found.value == pytest.approx(4 / 5)


def test_the_longest_common_subsequence_is_its_definition() -> None:
    @lru_cache
    def plain(a: str, b: str) -> int:
        if not a or not b:
            return 0
        return plain(a[1:], b[1:]) + 1 if a[0] == b[0] else max(plain(a[1:], b), plain(a, b[1:]))

    letters = Random(5)
    for _ in range(200):
        a, b = ("".join(letters.choices("abc", k=letters.randint(1, 8))) for _ in range(2))
        for kind in ("rougeL", "rougeLsum"):
            found = rouge([" ".join(a)], [" ".join(b)], kind=kind, part="recall")  # type: ignore[arg-type]
            assert found.value == pytest.approx(plain(a, b) / len(b)), (a, b)


def test_the_best_reference_and_the_mean_over_texts() -> None:
    tally = rouge_tally(["a b", "c"], [["x y", "a b"], ["d"]], kind="rouge1")
    assert tally.rows.tolist() == [[1, 1, 1, 1], [0, 0, 0, 1]]
    assert tally.score().value == 0.5


def test_nothing_is_zero_and_never_an_error() -> None:
    for kind in SUMMARISED:
        assert rouge(["", "a", ""], ["a", "", ""], kind=kind).value == 0.0  # type: ignore[arg-type]


def test_words_of_other_alphabets_need_another_tokenizer() -> None:
    assert rouge(["für Ørsted"], ["für Ørsted"], tokenize="13a").value == 1.0
    assert rouge(["да"], ["да"]).value == 0.0
    assert "tok:13a" in rouge(["да"], ["да"], tokenize="13a").signature


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="rouge3"):
        rouge(["a"], ["a"], kind="rouge3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="part 'F'"):
        metric("rouge1", part="F")(["a"], ["a"])
    with pytest.raises(ValueError, match="no option 'kind'"):
        metric("rouge1", kind="rouge2")
