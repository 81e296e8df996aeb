"""The guard rails: what must not be scored is refused in one sentence."""

from __future__ import annotations

import pytest

from regard.evaluate import METRICS, metric


@pytest.mark.parametrize("name", [name for name, one in METRICS.items() if one.compares != "rankings"])
@pytest.mark.parametrize(
    ("hypotheses", "references", "sentence"),
    [
        (["a", "b"], ["a"], "2 hypotheses but references for 1 sentences; give one entry for each sentence"),
        ([], [], "there is nothing to score: the set of hypotheses is empty"),
        (["a"], [[]], "sentence 1 has no reference"),
        (["a", "ca@@ t"], ["a", "cat"], "hypothesis 2 is still in subword pieces"),
        (["▁a ▁cat"], ["a cat"], "hypothesis 1 is still in subword pieces"),
        (["a cat"], [["a c@@ at"]], "reference 1 is still in subword pieces"),
        (["a <unk>"], ["a <<unk>>"], "reference 1 contains '<unk>'"),
        ("a cat", ["a cat"], "must be lists of texts, not one string"),
        ([None], ["a cat"], "hypothesis 1 is None, not a text"),
    ],
)
def test_every_metric_refuses(name: str, hypotheses: list[str], references: list[str], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        metric(name)(hypotheses, references)


def test_what_only_looks_like_pieces_is_scored() -> None:
    """An address with two signs, and an unknown word where a model may well write one."""
    assert metric("bleu")(["write to me@@home.org today please"], ["write to me@@home.org today please"]).value > 99
    assert metric("wer")(["a <unk> cat"], ["a red cat"]).value == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", [name for name, one in METRICS.items() if one.compares in ("texts", "label_sets")])
def test_an_empty_output_is_an_output(name: str) -> None:
    found = metric(name)(["", "a cat sat here"], ["a dog stood there", "a cat sat here"])
    assert found.count == 2
    worse = metric(name)(["", ""], ["a dog stood there", "a cat sat here"])
    assert (worse.value < found.value) == METRICS[name].higher_is_better


def test_labels_come_with_one_truth_of_the_same_length() -> None:
    with pytest.raises(ValueError, match="accuracy: text 2 has 1 labels but 2 true ones"):
        metric("accuracy")(["A", "A"], ["A", "A B"])
    with pytest.raises(ValueError, match="f1: sentence 1 has 2 references; this metric takes exactly one"):
        metric("f1")(["A"], [["A", "B"]])
