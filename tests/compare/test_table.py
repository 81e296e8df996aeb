"""The table, by hand."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from rich.console import Console

from regard.compare.result import Spread, higher_is_better
from regard.compare.table import as_csv, columns, markdown, number, on_screen
from tests.compare.made_up import comparison, rows


def test_runs_that_differ_in_the_seed_are_one_row() -> None:
    made = comparison("model.hidden_dim=32,64", "train.seed=1,2,3")
    found = rows(made, lambda number: [0.1, 0.2, 0.3, 0.15, 0.15, 0.15][number])
    text = {column.heading: [cell.text for cell in column.cells] for column in columns(made, found)}
    assert text == {
        "hidden_dim": ["32", "64"],
        "runs": ["3", "3"],
        "parameters": ["1,234", "1,234"],
        "steps": ["200", "200"],
        "valid loss": ["0.2000 ± 0.1000", "0.1500 ± 0.0000"],
        "valid exact match": ["0.8000 ± 0.1000", "0.8500 ± 0.0000"],
        "test loss": ["0.2000 ± 0.1000", "0.1500 ± 0.0000"],
        "test exact match": ["0.8000 ± 0.1000", "0.8500 ± 0.0000"],
        "seconds": ["10", "10"],
    }


def test_the_best_is_bold_whichever_way_is_up() -> None:
    made = comparison("model.hidden_dim=32,64,96")
    found = columns(made, rows(made, lambda number: [0.2, 0.1, 0.3][number]))
    best = {column.heading: [cell.best for cell in column.cells] for column in found}
    assert best["valid loss"] == best["test exact match"] == [False, True, False]
    assert not any(best["seconds"] + best["parameters"] + best["hidden_dim"])
    assert "| 64 | 1,234 | 200 | **0.1000** | **0.9000** |" in markdown(made, found)
    screen = StringIO()
    Console(file=screen, width=200, force_terminal=True, color_system="standard").print(on_screen(made, found))
    assert "\x1b[1m0.1000\x1b[0m" in screen.getvalue()
    assert "\x1b[1m0.2000" not in screen.getvalue()


def test_a_failed_run_says_why_and_the_others_count() -> None:
    made = comparison("model.hidden_dim=32,64", "train.seed=1,2")
    found = rows(made, lambda number: [0.1, None, None, None][number])
    text = {column.heading: [cell.text for cell in column.cells] for column in columns(made, found)}
    assert text["runs"] == ["1 of 2", "0 of 2"]
    assert text["test loss"] == ["0.1000", "–"]
    assert text["failed"][0] == "hidden_dim=32, seed=2: out of luck"


def test_csv_has_a_line_a_run_with_all_digits() -> None:
    made = comparison("model.attention=additive,{score: dot, hidden_dim: 8}", "train.seed=1,2")
    lines = list(csv.DictReader(as_csv(made, rows(made, lambda number: 1 / (number + 3))).splitlines()))
    assert [line["train.seed"] for line in lines] == ["1", "2", "1", "2"]
    assert lines[2]["model.attention"] == "{score: dot, hidden_dim: 8}"
    assert lines[1]["test loss"] == "0.25"
    assert lines[2]["test loss"] == "0.2"
    assert len(lines[0]["test loss"]) > 15
    assert lines[0]["run"] == "attention-additive_seed-1"


def test_a_table_of_nothing_but_failures_is_a_table() -> None:
    made = comparison("train.seed=1,2")
    found = rows(made, lambda number: None)
    assert [column.heading for column in columns(made, found)] == ["runs", "parameters", "steps", "seconds", "failed"]


@pytest.mark.parametrize(
    ("spread", "text"),
    [
        (Spread(0.0, None), "0.0000"),
        (Spread(1.0, 0.0), "1.000 ± 0.000"),
        (Spread(12345.6, None), "12,346"),
        (Spread(-2.5, None), "-2.500"),
        (Spread(float("inf"), None), "inf"),
        (Spread(float("nan"), None), "nan"),
    ],
)
def test_numbers_are_short(spread: Spread, text: str) -> None:
    assert number(spread) == text


def test_up_is_known_for_losses_and_metrics_only() -> None:
    assert [higher_is_better(name) for name in ("loss", "perplexity", "bleu", "ter", "weather")] == [
        False,
        False,
        True,
        False,
        None,
    ]
