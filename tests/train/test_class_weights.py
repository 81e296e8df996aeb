"""Class weights from a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.data import DataError
from regard.recipes.errors import RecipeError
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.yaml_document import RecipeDocument
from regard.systems.classification.task import Classification
from regard.systems.nodes.task import Nodes
from regard.tasks.setup import prepare

CLASSIFY = """\
run: reviews
task: classify
data: {format: labelled, train: reviews.txt, valid: reviews.txt}
tokenizer: {kind: words}
model: {kind: acceptor, encoder: {embedding_dim: 5, hidden_dim: 4}}
train: {steps: 1, batch: {sentences: 4}}
"""
NODES = """\
run: people
task: nodes
data: {format: communities, communities: 2, nodes: 60, learned: 6, valid_size: 10, test_size: 10}
model: {kind: gat}
train: {steps: 1}
"""


def recipe(text: str, *overrides: str) -> Recipe:
    return check(RecipeDocument.parse(text, "mine.yaml").overridden(list(overrides))).recipe


@pytest.fixture
def reviews(tmp_path: Path) -> str:
    (tmp_path / "reviews.txt").write_text("good a gem\n" * 6 + "bad too long\n" * 2)
    return f"data.root={tmp_path}"


def test_weights_are_counted_in_the_training_data(reviews: str, tmp_path: Path) -> None:
    task = prepare(recipe(CLASSIFY, reviews, "train.class_weights=balanced"), tmp_path / "cache").task
    assert isinstance(task, Classification)
    assert task.weights is not None
    assert task.weights.factors == pytest.approx((8 / 4, 8 / 12))  # bad, good
    plain = prepare(recipe(CLASSIFY, reviews), tmp_path / "cache").task
    assert isinstance(plain, Classification)
    assert plain.weights is None


def test_weights_by_label(reviews: str, tmp_path: Path) -> None:
    task = prepare(recipe(CLASSIFY, reviews, "train.class_weights={bad: 5}"), tmp_path / "cache").task
    assert isinstance(task, Classification)
    assert task.weights is not None
    assert task.weights.factors == (5.0, 1.0)
    with pytest.raises(DataError, match=r"class_weights: there is no label 'bda'; did you mean 'bad'"):
        prepare(recipe(CLASSIFY, reviews, "train.class_weights={bda: 5}"), tmp_path / "cache")


def test_nodes_have_weights_too(tmp_path: Path) -> None:
    task = prepare(recipe(NODES, "train.class_weights=balanced"), tmp_path).task
    assert isinstance(task, Nodes)
    assert task.weights is not None
    assert task.weights.factors == pytest.approx((1.0, 1.0))  # as many of each are learned from


@pytest.mark.parametrize("value", ["balance", "{bad: -1}", "3"])
def test_a_wrong_value_names_the_key(value: str) -> None:
    with pytest.raises(RecipeError, match=r"train\.class_weights"):
        recipe(CLASSIFY, f"train.class_weights={value}")


def test_a_task_without_labels_is_refused() -> None:
    text = "data: {format: digits, task: copy}\nmodel: {kind: luong}\ntrain: {steps: 1, class_weights: balanced}\n"
    with pytest.raises(RecipeError, match=r"class_weights is for the task 'classify', .*; the task is 'translate'"):
        recipe(text)
