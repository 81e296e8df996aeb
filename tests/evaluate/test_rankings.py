"""Rankings beside their right items: values by hand, limits, and what is refused."""

from __future__ import annotations

import math

import pytest

from regard.evaluate.metrics import metric

RANKINGS = [("b", "a", "c"), ("d", "e", "f"), ("a  a", "x")]
RIGHT = [["a"], ["f", "d"], ["a a"]]


@pytest.mark.parametrize(
    ("name", "k", "value"),
    [
        ("mrr", 10, (1 / 2 + 1 + 1) / 3),
        ("mrr", 1, 2 / 3),
        ("recall_at", 1, (0 + 1 / 2 + 1) / 3),
        ("recall_at", 3, 1.0),
        ("ndcg", 3, (1 / math.log2(3) + (1 + 1 / 2) / (1 + 1 / math.log2(3)) + 1) / 3),
    ],
)
def test_values_by_hand(name: str, k: int, value: float) -> None:
    score = metric(name, k=k)(RANKINGS, RIGHT)
    assert score.value == pytest.approx(value)
    assert score.signature == f"nrefs:var|k:{k}"
    assert score.name.endswith(f"@{k}")


def test_a_text_is_a_ranking_of_one_and_repetitions_count_once() -> None:
    assert metric("mrr")(["a", "b"], ["a", "a"]).value == 0.5
    assert metric("ndcg")([("a", "a")], ["a"]).value == 1.0


def test_systems_are_compared_by_pairs() -> None:
    better = metric("mrr").compare([("b", "a")] * 20, [("a", "b")] * 20, ["a"] * 20)
    assert "0.5" in str(better)


@pytest.mark.parametrize(
    ("rankings", "right", "options", "said"),
    [
        ([("a",)], ["a"], {"k": 0}, "mrr: k is 0"),
        ([("a",)], ["a", "b"], {}, "1 rankings and right items of 2 queries"),
        ([], [], {}, "nothing to score"),
        ([("a",)], [[]], {}, "query 1 has no right item"),
    ],
)
def test_what_is_refused(rankings: list[tuple[str]], right: list[str], options: dict[str, int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        metric("mrr", **options)(rankings, right)
