"""Accuracy, F1 and spans."""

from __future__ import annotations

import pytest

from regard.evaluate import accuracy, exact_match, f1, f1_per_class, metric, span_f1, span_f1_per_kind, spans

CLAIMED = ["a", "a", "b", "c", "a", "b"]
TRUE = ["a", "b", "b", "c", "c", "b"]


def test_exact_match_with_several_references() -> None:
    assert exact_match(["x  y ", "z"], [["q", "x y"], "Z"]).value == 0.5
    assert exact_match(["x y", "z"], [["q", "x y"], "Z"], lowercase=True).value == 1.0


def test_accuracy_counts_labels_not_texts() -> None:
    assert accuracy(["A B C", "A"], ["A B B", "B"]).value == 0.5
    assert accuracy(["", "A"], ["", "A"]).value == 1.0


def test_labels_with_spaces_are_compared_whole() -> None:
    claimed, true = ["very good", "good", "very bad"], ["very good", "very good", "very good"]
    assert accuracy(claimed, true, whole=True).value == pytest.approx(1 / 3)
    assert f1(claimed, true, whole=True).value == pytest.approx((1 / 2 + 0 + 0) / 3)
    assert f1_per_class(claimed, true, whole=True)["very good"] == pytest.approx((1.0, 1 / 3, 1 / 2, 3))
    with pytest.raises(ValueError, match=r"text 2 has 1 labels but 2 true ones; .* set whole"):
        accuracy(claimed, true)


def test_f1_by_hand() -> None:
    """a: 1 found, 3 claimed, 1 true: 1/2. b: 2, 2, 3: 4/5. c: 1, 1, 2: 2/3."""
    assert f1(CLAIMED, TRUE).value == pytest.approx((1 / 2 + 4 / 5 + 2 / 3) / 3)
    assert f1(CLAIMED, TRUE, average="micro").value == pytest.approx(4 / 6)
    assert f1(CLAIMED, TRUE, average="micro").value == accuracy(CLAIMED, TRUE).value
    per_class = f1_per_class(CLAIMED, TRUE)
    assert per_class["a"] == pytest.approx((1 / 3, 1.0, 0.5, 1))
    assert per_class["b"] == pytest.approx((1.0, 2 / 3, 0.8, 3))


def test_a_class_that_is_never_claimed_counts_as_zero() -> None:
    assert f1(["a", "a"], ["a", "b"]).value == pytest.approx((2 / 3 + 0) / 2)
    with pytest.raises(ValueError, match="no average 'marco'; did you mean 'macro'"):
        f1(["a"], ["a"], average="marco")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-X I-X O B-X", "X02 X34"),
        ("B-X B-X I-X", "X01 X13"),
        ("I-X I-X O", "X02"),  # IOB1, or a model that forgot the B
        ("B-X I-Y I-Y", "X01 Y13"),
        ("O I-X B-X", "X12 X23"),
        ("S-X B-X I-X E-X E-X I-X", "X01 X14 X45 X56"),
        ("U-X B-X L-X O", "X01 X13"),
        ("B I O B", "02 34"),
        ("O O", ""),
        ("", ""),
    ],
)
def test_spans_are_those_of_conlleval(tags: str, expected: str) -> None:
    assert " ".join(f"{span.kind}{span.start}{span.end}" for span in spans(tags.split())) == expected


def test_span_f1_by_hand() -> None:
    """A span with a wrong end, one with a wrong kind, one right; 2 + 2 claimed, 2 + 1 true."""
    claimed, true = ["B-NP I-NP B-VP", "B-NP B-PP"], ["B-NP I-NP I-NP", "B-NP O"]
    assert span_f1(claimed, true).value == pytest.approx(2 * 1 / (4 + 2))
    kinds = span_f1_per_kind(claimed, true)
    assert kinds["NP"] == pytest.approx((1 / 2, 1 / 2, 1 / 2, 2))
    assert kinds["VP"] == (0.0, 0.0, 0.0, 0)


def test_right_tokens_in_wrong_spans_are_not_right() -> None:
    claimed, true = ["B-X I-X I-X I-X O"], ["B-X I-X I-X I-X I-X"]
    assert accuracy(claimed, true).value == 0.8
    assert span_f1(claimed, true).value == 0.0


def test_tags_that_are_no_chunks_are_named() -> None:
    with pytest.raises(ValueError, match="'NN' is not a tag of a chunk; write B-KIND, I-KIND or O"):
        metric("span_f1")(["DT NN".replace("DT", "O")], ["O O"])
