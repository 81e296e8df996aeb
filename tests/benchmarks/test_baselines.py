"""Baselines of recipes: nearest examples by hand, and every kind of task."""

from __future__ import annotations

import pytest
from benchmarks.baselines import Nearest, baselines

from regard.recipes.load import load


def test_the_nearest_text_shares_rare_words() -> None:
    nearest = Nearest(["the sea is blue", "the red bird", "the the the"])
    assert nearest.of("a blue bird by the sea") == 0
    assert nearest.of("THE") == 2
    assert nearest.of("nothing of it") == 0


def test_ngrams_are_measured_in_nats() -> None:
    recipe = load("airs", ["data.train_size=50", "data.test_size=5"]).recipe
    found = {name: values["nats per character"] for name, values in baselines(recipe)}
    assert set(found) == {f"{order}-grams" for order in (3, 4, 5, 6, 7)}
    assert all(0.3 < value < 4 for value in found.values())


@pytest.mark.parametrize(("name", "metric"), [("dates", "exact_match"), ("opinions", "accuracy")])
def test_answers_and_labels_have_baselines(name: str, metric: str) -> None:
    recipe = load(name, ["data.train_size=40", "data.test_size=9"]).recipe
    found = dict(baselines(recipe))
    assert {"most frequent", "nearest"} <= set(found)
    assert ("NB-SVM" in found) == (name == "opinions")
    assert all(0 <= values[metric] <= 1 for values in found.values())


def test_a_system_brings_its_own() -> None:
    recipe = load("inns", ["data.train_size=40", "data.test_size=9"]).recipe
    assert list(dict(baselines(recipe))) == ["template", "nearest", "nearest, renamed"]
