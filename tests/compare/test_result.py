"""What a comparison says of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.compare.comparison import compare
from regard.compare.result import Result
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.train.tiny import TEXT

EVERY = "train.checkpoint_every=4"


@pytest.mark.parametrize(("average", "split"), [(1, "valid"), (3, "valid_averaged")])
def test_the_model_that_was_kept_is_measured(average: int, split: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TEXT)
    overrides = ["train.seed=1,2", f"train.average={average}", "train.steps=12", "train.valid_every=4", EVERY]
    trial = compare(str(tmp_path / "tiny.yaml"), overrides, tmp_path).trials[0]
    Trainer(trial.recipe, Run(trial.folder), screen=Screen(quiet=True)).fit()
    rows = [json.loads(line) for line in (trial.folder / "metrics.jsonl").read_text().splitlines()]
    result = Result.of(trial)
    assert result.measures["valid", "loss"] == min(row["loss"] for row in rows if row["split"] == split)
    assert result.measures["test", "loss"] == rows[-1]["loss"]
    assert [step for step, _ in result.curve] == [4, 8, 12]
