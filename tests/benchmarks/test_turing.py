"""The table of Neural Turing Machines."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from benchmarks.turing import TRIALS, Trial, table

from benchmarks import turing
from regard.recipes.load import load

SHORT = ["train.steps=2", "train.valid_every=2", "data.valid_size=4", "data.length=9", "data.test_size=4"]


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


def test_machines_are_trained_as_one_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (trial,) = (one for one in TRIALS if one.name == "N-grams, NTM with LSTM")
    monkeypatch.setattr(
        turing, "ask", lambda run, data: {"bits_per_sequence": float((run / "model.safetensors").exists())}
    )
    given = Namespace(seeds=2, runs=tmp_path, jobs=1, compiled=False, settings=SHORT)
    assert turing.measured(trial, given) == [[{"bits_per_sequence": 1.0}]] * 2
    again = lambda recipes, *_, **__: pytest.fail(f"{recipes} is trained again")  # noqa: E731
    monkeypatch.setattr(turing.side_by_side, "train", again)
    assert turing.measured(trial, given) == [[{"bits_per_sequence": 1.0}]] * 2


def test_a_trial_from_the_command_line(tmp_path: Path) -> None:
    options = ["--only", "N-grams, LSTM", "--seeds", "1", "--runs", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.turing", *options, *SHORT]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "| N-grams, LSTM |  | " in done.stdout
    assert "(least " in done.stdout
