"""Cross-validation of documents: the linear model, and the table."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
import torch
from benchmarks.documents import MODELS, RECIPE, _accuracy, _fitted, linear, table

from regard.recipes.load import load


def test_a_linear_model_finds_the_word_that_decides(tmp_path: Path) -> None:
    path = tmp_path / "movie_reviews.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(0, 1000, 50):
            archive.writestr(f"neg/cv{number:03}_1.txt", f"the film {number} is Dull .")
            archive.writestr(f"pos/cv{number:03}_1.txt", f"the film {number} is fine .")
    found = linear(path, 3)
    assert found == {"valid": 1.0, "test": 1.0, "parameters": 7}  # six words that are frequent enough, and the bias


def test_a_stronger_penalty_makes_smaller_weights() -> None:
    torch.manual_seed(1)
    features, labels = torch.cat((torch.randn(31, 5), torch.ones(31, 1)), dim=1), (torch.rand(31) < 0.5).float()
    weak, strong = (_fitted(features, labels, penalty) for penalty in (0.1, 10.0))
    assert strong[:-1].norm() < 0.5 * weak[:-1].norm()
    slope = features.T @ (torch.sigmoid(features @ strong) - labels)
    slope[:-1] += 10.0 * strong[:-1]
    assert slope.abs().max() < 1e-2  # the minimum
    assert _accuracy(features, labels, weak) >= 0.5


def test_the_table_has_mean_and_deviation_over_folds() -> None:
    rows = [{"model": "flat", "fold": fold, "valid": 0.9, "test": test, "parameters": 1234}
            for fold, test in enumerate((0.8, 0.9))]  # fmt: skip
    assert table(rows).splitlines()[-1] == "| flat | 2 | 90.0 ± 0.0 | 85.0 ± 7.1 | 1,234 |"
    assert table(rows[:1]).splitlines()[-1] == "| flat | 1 | 90.0 | 80.0 | 1,234 |"


@pytest.mark.parametrize("name", ["hierarchical", "mean", "max", "flat"])
def test_the_models_are_those_of_the_recipe(name: str) -> None:
    recipe = load(RECIPE, ["data.root=/", *MODELS[name]]).recipe
    assert recipe.model.kind == ("acceptor" if name == "flat" else "hierarchical")
