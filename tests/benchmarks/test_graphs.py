"""The benchmark of graph attention networks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch
from benchmarks.graphs import Row, learn, recipe_of, table

from regard.systems.nodes.graphs import Communities
from tests.systems.nodes.test_graphs import npz

SMALL = Communities(communities=2, nodes=60, inside=5, outside=0.5, features=4, signal=9, valid_size=20, test_size=20)


def test_a_run_learns_and_says_what_it_kept(tmp_path: Path) -> None:
    recipe = recipe_of(npz(tmp_path), ["train.steps=30"])
    row = learn(SMALL.read(), recipe, 0, torch.device("cpu"))
    assert row.test > 75
    assert 1 <= row.kept <= row.epochs <= 30
    again = learn(SMALL.read(), recipe, 0, torch.device("cpu"))
    assert row[:-1] == again[:-1]


def test_a_graph_is_learned_by_the_recipe_of_its_name(tmp_path: Path) -> None:
    other = npz(tmp_path)
    citeseer = other.rename(tmp_path / "citeseer.npz")
    assert recipe_of(citeseer, []).run == "citeseer"
    assert recipe_of(citeseer.rename(other), ["train.optimizer.rate=0.5"]).train.optimizer.rate == 0.5
    assert recipe_of(other, []).run == "cora"


def test_the_table_has_mean_and_deviation() -> None:
    said = table("cora", [Row(0, 80.0, 82.0, 5, 10, 1.0), Row(1, 80.0, 84.0, 5, 20, 3.0)])
    assert said == (
        "cora: test 83.00 ± 1.41 over 2 seeds, published 83.0 ± 0.7; 82.0 to 84.0, 15 epochs and 2.0 s a run"
    )


def test_the_command(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    command = [sys.executable, "benchmarks/graphs.py", str(npz(tmp_path)), "--seeds", "2", "--layer"]
    done = subprocess.run(
        [*command, "--set", "train.steps=3", "--output", str(output)], check=True, capture_output=True, text=True
    )
    assert "graph: test " in done.stdout
    assert "over 2 seeds" in done.stdout
    assert [json.loads(line)["seed"] for line in output.read_text().splitlines()] == [0, 1]
