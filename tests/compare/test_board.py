"""What is shown while runs are trained."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from regard.compare.board import Board
from regard.compare.pool import Pool
from regard.runs.run import Run
from tests.compare.made_up import comparison


def test_elsewhere_a_line_is_printed_when_something_changes(tmp_path: Path) -> None:
    pool = Pool(comparison("train.seed=1,2,3", "train.steps=800", runs=tmp_path).trials, 1)
    Run(pool.trials[1].folder).metrics.add(200, "valid", loss=0.25)
    console = Console(file=StringIO(), width=200)
    with Board(console) as board:
        board.show(pool)
        pool.states[0], pool.reasons[0], pool.states[1] = "failed", "out of [luck]", "training"
        board.show(pool)
        board.show(pool)
        pool.states[1] = "done"
        board.show(pool)
    assert console.file.getvalue().splitlines() == [  # type: ignore[attr-defined]
        "seed=1: failed out of [luck]",
        "seed=2: training step 200 of 800  loss 0.25",
        "seed=2: done",
    ]


def test_a_small_terminal_shows_what_is_in_training_first(tmp_path: Path) -> None:
    pool = Pool(comparison(f"train.seed={','.join(map(str, range(40)))}", "train.steps=800", runs=tmp_path).trials, 1)
    pool.states[33] = "training"
    file = StringIO()
    with Board(Console(file=file, width=100, height=10, force_terminal=True, color_system=None)) as board:
        board.show(pool)
    assert "seed=33  training step 0 of 800" in file.getvalue()
    assert "seed=2 " in file.getvalue()
    assert "seed=3 " not in file.getvalue()
    assert "40 runs: 1 training, 0 failed, 39 waiting, 0 done" in file.getvalue()
