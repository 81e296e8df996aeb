"""Precision, recall, F1, balanced accuracy and MCC of classes, and the confusion matrix they follow from."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from regard.evaluate import (
    METRICS,
    Confusion,
    balanced_accuracy,
    confusion,
    f1,
    f1_per_class,
    mcc,
    metric,
    paired_bootstrap,
    precision,
    recall,
)

TRUE = ["a", "b", "b", "c", "c", "b"]
CLAIMED = ["a", "a", "b", "c", "a", "b"]


def drawn(seed: int) -> tuple[list[str], list[str]]:
    """Truths and claims over up to six classes, some of which are never true or never claimed."""
    draw = Random(seed)
    names = "abcdef"[: draw.randint(2, 6)]
    true = [draw.choice(names) for _ in range(draw.randint(3, 50))]
    return true, [name if draw.random() < 0.6 else draw.choice(names) for name in true]


def test_by_hand() -> None:
    """a: 1 of 3 claims right, 1 of 1 found; b: 2 of 2, 2 of 3; c: 1 of 1, 1 of 2; supports 1, 3 and 2."""
    matrix = confusion(CLAIMED, TRUE)
    assert matrix.names == ("a", "b", "c")
    assert matrix.counts.tolist() == [[1, 0, 0], [1, 2, 0], [1, 0, 1]]
    assert precision(CLAIMED, TRUE).value == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert recall(CLAIMED, TRUE).value == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    assert precision(CLAIMED, TRUE, average="weighted").value == pytest.approx((1 / 3 + 3 + 2) / 6)
    assert f1(CLAIMED, TRUE, average="weighted").value == pytest.approx((1 * 1 / 2 + 3 * 4 / 5 + 2 * 2 / 3) / 6)
    assert balanced_accuracy(CLAIMED, TRUE).value == recall(CLAIMED, TRUE).value
    assert mcc(CLAIMED, TRUE).value == pytest.approx((4 * 6 - 3 * 1 - 2 * 3 - 1 * 2) / math.sqrt((36 - 14) * (36 - 14)))
    assert [tuple(one) for one in matrix.mistakes(9)] == [("b", "a", 1), ("c", "a", 1)]


@pytest.mark.parametrize("seed", range(20))
def test_the_definitions(seed: int) -> None:
    """Against the formulas written out over the pairs, class by class."""
    true, claimed = drawn(seed)
    names = sorted({*true, *claimed})
    right = {name: sum(a == b == name for a, b in zip(true, claimed, strict=True)) for name in names}
    precisions = {name: right[name] / claimed.count(name) if name in claimed else 0.0 for name in names}
    recalls = {name: right[name] / true.count(name) if name in true else 0.0 for name in names}
    for name, found in f1_per_class(claimed, true).items():
        assert found[:2] == pytest.approx((precisions[name], recalls[name]))
        both = precisions[name] + recalls[name]
        assert found.f1 == pytest.approx(2 * precisions[name] * recalls[name] / both if both else 0.0)
        assert found.support == true.count(name)
    assert precision(claimed, true).value == pytest.approx(np.mean(list(precisions.values())))
    weighted = sum(recalls[name] * true.count(name) for name in names) / len(true)
    assert recall(claimed, true, average="weighted").value == pytest.approx(weighted)
    assert balanced_accuracy(claimed, true).value == pytest.approx(np.mean([recalls[name] for name in set(true)]))
    told = np.array([[name == one for name in names] for one in true], float)
    said = np.array([[name == one for name in names] for one in claimed], float)
    told, said = told - told.mean(0), said - said.mean(0)  # Gorodkin: the correlation of two indicator matrices
    spread = math.sqrt((told**2).sum() * (said**2).sum())
    assert mcc(claimed, true).value == pytest.approx((told * said).sum() / spread if spread else 0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
def test_the_matrix_has_the_averages_of_the_metrics(seed: int, average: str) -> None:
    true, claimed = drawn(seed)
    found = confusion(claimed, true)
    assert found.scores().per_class() == f1_per_class(claimed, true)
    each = [metric(name, average=average)(claimed, true).value for name in ("precision", "recall", "f1")]
    assert found.scores().averages()[average] == pytest.approx((*each, len(true)))


def test_micro_is_the_accuracy() -> None:
    for name in ("precision", "recall", "f1"):
        assert metric(name, average="micro")(CLAIMED, TRUE).value == metric("accuracy")(CLAIMED, TRUE).value


def test_two_classes_have_the_binary_coefficient() -> None:
    """6 true positives, 3 true negatives, 1 false positive, 2 false negatives."""
    true, claimed = list("ppppppppnnnn"), list("ppppppnnnnnp")
    assert mcc(claimed, true).value == pytest.approx((6 * 3 - 1 * 2) / math.sqrt(7 * 8 * 4 * 5))


def test_one_class_alone_correlates_with_nothing() -> None:
    assert mcc(["a"] * 3, ["a", "a", "b"]).value == 0.0
    assert balanced_accuracy(["a"] * 3, ["a", "a", "b"]).value == 0.5


def test_each_token_counts_and_a_whole_label_may_have_spaces() -> None:
    assert confusion(["A B", "A"], ["A A", "B"]).counts.tolist() == [[1, 1], [1, 0]]
    matrix = confusion(["very good"], ["not good"], whole=True)
    assert matrix.names == ("not good", "very good")
    assert precision(["very good"], ["very good"], whole=True).value == 1.0


def test_the_largest_classes_are_kept_in_order() -> None:
    matrix = Confusion.of([("a", "a"), ("b", "a"), ("c", "b"), ("c", "c"), ("b", "b"), ("c", "c")])
    assert matrix.largest(2).names == ("b", "c")
    assert matrix.largest(2).counts.tolist() == [[1, 0], [1, 2]]
    assert matrix.largest(9).counts.tolist() == matrix.counts.tolist()
    assert matrix.mistakes(1)[0].times == 1
    assert Confusion.of([("a", "a")]).mistakes(5) == []


def test_nothing_is_counted_of_nothing() -> None:
    assert Confusion.of([]).scores().averages()["macro"] == (0.0, 0.0, 0.0, 0)


@pytest.mark.parametrize("name", ["balanced_accuracy", "mcc", "precision", "recall"])
def test_they_can_be_resampled(name: str) -> None:
    true, claimed = drawn(3)
    worse = [true[place - 1] for place in range(len(true))]
    found = paired_bootstrap(*(metric(name).count(texts, true) for texts in (worse, claimed)), samples=50)
    assert found.difference == pytest.approx(metric(name)(claimed, true).value - metric(name)(worse, true).value)


def test_a_wrong_average_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="recall: there is no average 'weigthed'; did you mean 'weighted'"):
        metric("recall", average="weigthed")(["a"], ["a"])
    assert METRICS["mcc"].compares == "labels"
