"""SQuAD's metric, by hand."""

from __future__ import annotations

import pytest

from regard.evaluate import METRICS, metric, squad_exact, squad_f1
from regard.evaluate.squad import bare_words, overlap


@pytest.mark.parametrize(
    ("answer", "right", "value"),
    [
        ("the Rhine", "Rhine", 1.0),
        ("The  RHINE!", "a rhine", 1.0),
        ("in Basel", "Basel", 2 / 3),
        ("Basel Basel", "Basel", 2 / 3),
        ("Carl", "Ada", 0.0),
        ("the", "Ada", 0.0),
        ("24–10", "24-10", 0.0),  # only ASCII punctuation goes
    ],
)
def test_overlap_by_hand(answer: str, right: str, value: float) -> None:
    assert overlap(answer, right) == pytest.approx(value)


def test_answers_without_words_are_where_the_versions_differ() -> None:
    """The official evaluate-v1.1 counts no common word; evaluate-v2.0 counts two empty answers as equal."""
    assert (overlap("the", "an"), overlap("the", "an", version="2.0")) == (0.0, 1.0)
    assert (squad_f1([""], [""]).value, squad_f1([""], [""], version="2.0").value) == (0.0, 1.0)
    assert squad_exact([""], [""]).value == squad_exact([""], [""], version="2.0").value == 1.0
    for version in ("1.1", "2.0"):
        assert overlap("the", "Ada", version=version) == overlap("Ada", "", version=version) == 0.0
        assert squad_f1(["in Basel"], ["Basel"], version=version).value == pytest.approx(2 / 3)


def test_version_2_passes_over_references_without_words() -> None:
    assert squad_exact(["the"], [["a", "Ada"]]).value == 1.0
    assert squad_exact(["the"], [["a", "Ada"]], version="2.0").value == 0.0
    assert squad_exact(["the"], [["a", "!"]], version="2.0").value == 1.0
    assert "version:2.0" in metric("squad_f1", version=2.0)(["a"], ["b"]).signature
    with pytest.raises(ValueError, match=r"squad_f1: there is no version '2'\. There are 1\.1, 2\.0"):
        squad_f1(["a"], ["b"], version="2")


def test_articles_are_words_of_their_own() -> None:
    assert bare_words("another theatre, and a hat") == ["another", "theatre", "and", "hat"]


def test_the_nearest_reference_counts() -> None:
    answers, right = ["in the mill", "May"], [["mill", "the old mill"], ["June", "in May", "may."]]
    assert squad_exact(answers, right).value == 0.5
    assert squad_f1(answers, right).value == pytest.approx((2 / 3 + 1) / 2)


def test_they_are_metrics() -> None:
    assert METRICS["squad_f1"].higher_is_better
    assert metric("squad_exact")(["Ada"], [["ada"]]).value == 1.0
    with pytest.raises(ValueError, match="there is no option"):
        metric("squad_f1", lowercase=True)
