"""Recipes promise what the pages report: every figure of an "Expected" sentence is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regard.recipes.library import shipped
from tests.docs.documented import RESULTS, documented, expected, figures, numbers, passages

RECIPES = {name: path for name, path in shipped().items() if figures(expected(path))}


def test_most_recipes_say_what_to_expect() -> None:
    assert len(RECIPES) >= 50


@pytest.mark.parametrize("path", RECIPES.values(), ids=RECIPES)
def test_every_figure_of_a_recipe_is_documented(path: Path) -> None:
    known = numbers(passages(path))
    assert [figure for figure in figures(expected(path)) if not documented(figure, known)] == []


@pytest.mark.parametrize("path", shipped().values(), ids=shipped())
def test_a_recipe_without_figures_says_so(path: Path) -> None:
    header = " ".join(line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("#"))
    assert expected(path).strip() or "Not run to its end" in header


def test_wrong_figures_are_found() -> None:
    """Most figures that are four or seven per cent off stand nowhere near their recipe."""
    found, total = 0, 0
    for path in RECIPES.values():
        known = numbers(passages(path))
        for figure in figures(expected(path)):
            decimals = len(figure.partition(".")[2])
            for factor in (0.93, 0.96, 1.04, 1.07):
                if (wrong := f"{factor * float(figure):.{decimals}f}") != figure:
                    found, total = found + (not documented(wrong, known)), total + 1
    assert found / total > 0.8


def test_the_results_page_has_figures() -> None:
    assert len(numbers(RESULTS.read_text())) > 300
    assert re.search(r"regard train dates", RESULTS.read_text())
