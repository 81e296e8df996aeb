"""The page of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.compare.page import comparison_page
from regard.compare.significance import differences
from regard.evaluate.metrics import metric
from regard.report.answers import Answers
from tests.compare.made_up import comparison, rows
from tests.report.pages import Page


def answered(folder: Path, right: int, *, count: int = 60) -> None:
    """Keep answers of which so many are right."""
    folder.mkdir(parents=True, exist_ok=True)
    Answers("test", ["a"] * right + ["b"] * (count - right), [["a"]] * count).save(folder)


def test_it_has_the_table_curves_and_all_runs(tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64", "train.seed=1,2,3", runs=tmp_path)
    page = Page(comparison_page(made, rows(made, lambda number: 0.1 + 0.01 * number)))
    assert page.problems == []
    assert page.ids[::2] == ["results", "differences", "curves", "runs", "again"]
    assert "0.1100 ± 0.0100" in page.text
    assert "kept no answers" in page.text
    assert made.command in page.text


def test_rows_are_compared_with_the_first_over_their_seeds(tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64,96", "train.seed=1,2", runs=tmp_path)
    for trial, right in zip(made.trials, (20, 22, 50, 52, 20, 22), strict=True):
        answered(trial.folder, right)
    found, why = differences(rows(made, lambda number: 0.1), [metric("exact_match")])
    assert why == ""
    assert [one.row.values["model.hidden_dim"] for one in found] == ["64", "96"]
    assert found[0].found.difference == pytest.approx(0.5)
    assert found[0].found.p_value < 0.01
    assert (found[1].found.difference, found[1].found.p_value) == (0.0, 1.0)
    text = Page(comparison_page(made, rows(made, lambda number: 0.1))).text
    assert "+0.5" in text
    assert "better" in text


def test_other_data_are_not_compared(tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64", runs=tmp_path)
    answered(made.trials[0].folder, 9)
    answered(made.trials[1].folder, 9, count=61)
    assert "different data" in differences(rows(made, lambda number: 0.1), [metric("exact_match")])[1]
    assert "two rows" in differences(rows(made, lambda number: None), [metric("exact_match")])[1]


def test_a_comparison_of_which_nothing_ended_has_a_page(tmp_path: Path) -> None:
    made = comparison("model.hidden_dim=32,64", runs=tmp_path)
    assert "No run has ended." in Page(comparison_page(made, rows(made, lambda number: None))).text
