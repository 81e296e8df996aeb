"""The table of Neural Turing Machines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.turing import TRIALS, Trial, table

from regard.recipes.load import load


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_every_trial_is_a_recipe_that_can_be_asked(trial: Trial) -> None:
    for data in trial.asked:
        recipe = load(trial.recipe, [*trial.settings, *(f"data.{one}" for one in data)]).recipe
        assert recipe.task == "bits"


def test_medians_and_all_seeds() -> None:
    trial = Trial("sort", "ntm_sort", asked=((), ("vectors=30", "highest=9")))
    seeds = [
        [{"bits_per_sequence": bits, "wer": bits / 10}, {"bits_per_sequence": 2 * bits}] for bits in (3.0, 1.0, 2.0)
    ]
    assert table([trial], [seeds]).splitlines()[2:] == [
        "| sort |  | 2 | 1, 2, 3 |  | 0.2 |",
        "| sort | vectors=30 highest=9 | 4 | 2, 4, 6 |  |  |",
    ]


def test_a_trial_from_the_command_line(tmp_path: Path) -> None:
    short = ["train.steps=2", "train.valid_every=2", "data.valid_size=4", "data.length=9", "data.test_size=4"]
    command = [
        sys.executable,
        "benchmarks/turing.py",
        "--only",
        "N-grams, LSTM",
        "--seeds",
        "1",
        "--runs",
        str(tmp_path),
    ]
    done = subprocess.run([*command, *short], check=True, capture_output=True, text=True)
    assert "| N-grams, LSTM |  | " in done.stdout
    assert "(least " in done.stdout
