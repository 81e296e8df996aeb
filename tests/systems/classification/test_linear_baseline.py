"""Linear models of words: features by hand, optima, and recipes of texts and of pairs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.recipes.load import load
from regard.systems.classification import baseline
from regard.systems.classification.baseline import (
    SparseFeatures,
    baselines,
    columns_of,
    fit_linear,
    log_count_ratios,
    logistic,
    pair_features,
    squared_hinge,
    text_features,
)
from tests.mechanism import assert_close

TEXTS = (["not", "a", "gem"], ["a", "gem"], ["a", "bore"], ["not", "a", "bore"])
LABELS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]).double()


def rows() -> tuple[SparseFeatures, int]:
    found = [text_features(text) for text in TEXTS]
    columns = columns_of(found)
    assert list(columns) == ["a", "a bore", "a gem", "bore", "gem", "not", "not a"]
    return SparseFeatures.of(found, columns), len(columns)


def test_products_are_those_of_a_matrix() -> None:
    found, size = rows()
    dense = torch.tensor([[1, 0, 1, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0, 0], [1, 1, 0, 1, 0, 0, 0], [1, 1, 0, 1, 0, 1, 1]])
    weights = torch.randn(size, 3).double()
    assert_close(found.times(weights), dense.double() @ weights, tolerance=1e-12)
    empty = SparseFeatures.of([{}, {"gem": 2.0}, {"unknown": 1.0}], {"gem": 0})
    assert empty.times(torch.tensor([[3.0]]).double()).tolist() == [[0], [6], [0]]


@pytest.mark.parametrize("loss", [logistic, squared_hinge])
def test_weights_are_the_optimum(loss: Any) -> None:
    found, size = rows()
    scale = torch.rand(size, 2).double() + 0.5
    scaled, biases = fit_linear(found, LABELS, loss, 3.0, scale=scale)
    weights, biases = (scaled / scale).requires_grad_(), biases.requires_grad_()
    (0.5 * weights.square().sum() + 3.0 * loss(found.times(weights * scale) + biases, LABELS)).backward()
    assert weights.grad is not None
    assert biases.grad is not None
    assert weights.abs().max() > 0.1
    assert_close(weights.grad, torch.zeros(size, 2), tolerance=1e-4)
    assert_close(biases.grad, torch.zeros(2), tolerance=1e-4)


def test_losses_by_hand() -> None:
    scores, wanted = torch.tensor([[2.0, 0.5]]), torch.tensor([[0.0, 1.0]])
    assert_close(logistic(scores, wanted), math.log(1 + math.exp(1.5)), tolerance=1e-6)
    assert_close(squared_hinge(scores, wanted), 3.0**2 + 0.5**2)


def test_ratios_count_classes() -> None:
    found, size = rows()
    ratios: Tensor = log_count_ratios(found, LABELS, size)
    # The texts of the first class have 5 + 3 + 5 features, those of the other 3; each of 7 columns counts one more.
    assert_close(ratios[4], [math.log((2 / 20) / (2 / 10)), math.log((2 / 10) / (2 / 20))], tolerance=1e-12)
    assert_close(ratios[1], [math.log((3 / 20) / (1 / 10)), math.log((1 / 10) / (3 / 20))], tolerance=1e-12)


def test_pairs_are_what_differs() -> None:
    found = pair_features(["nobody", "sings"], ["a", "man", "sings"])
    assert {name for name in found if name[0] in "abi"} == {"a:nobody", "b:a", "b:man", "i:sings"}
    assert {name for name in found if name[0] == "x"} == {"x:nobody>a", "x:nobody>man"}
    assert (found["n:common"], found["n:longer"], found["n:one negated"]) == (0.25, -1, 1)
    assert pair_features([], [])["n:equal"] == 1


def test_recipes_of_texts_and_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "COSTS", (0.3,))
    small = ["data.train_size=200", "data.valid_size=40", "data.test_size=40"]
    texts = dict(baselines(load("opinions", [*small, "data.words=9"]).recipe))
    assert list(texts) == ["logistic", "NB-logistic", "linear SVM", "NB-SVM"]
    assert all(values["accuracy"] > 0.95 for values in texts.values())  # a linear model knows the adjectives
    pairs = dict(baselines(load("claims", small).recipe))
    assert all(0.2 < values["accuracy"] < 0.85 for values in pairs.values())  # and never who is where
    assert list(baselines(load("stars", small).recipe)) == []
