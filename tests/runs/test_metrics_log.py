"""metrics.jsonl is JSON that every reader understands."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard.tasks.measurement
from regard.cli import app
from regard.evaluate.perplexity import perplexity
from regard.runs.metrics_log import MetricsLog
from regard.tasks.measurement import Measurement
from tests.train.tiny import train


def strictly(line: str) -> dict[str, object]:
    def refuse(constant: str) -> object:
        raise AssertionError(f"{constant} is not JSON")

    row: dict[str, object] = json.loads(line, parse_constant=refuse)
    return row


def test_what_is_not_finite_is_null_and_comes_back(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.add(1, "valid", loss=800.0, perplexity=math.inf)
    log.add(2, "valid", loss=2.0, perplexity=math.exp(2.0))
    for _ in range(2):
        first, second = map(strictly, log.path.read_text().splitlines())
        assert first == {"step": 1, "split": "valid", "loss": 800.0, "perplexity": None}
        assert second["perplexity"] == math.exp(2.0)
        assert [row["perplexity"] for row in log] == [math.inf, math.exp(2.0)]
        log.rewind(2)


def test_evaluate_says_it_in_both_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path / "run", "train.steps=1")
    bad = Measurement(800.0, {"perplexity": perplexity(2400.0, 3)}, (), None)
    monkeypatch.setattr(regard.tasks.measurement, "measure", lambda *_, **__: bad)
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run"), "--json"])
    assert strictly(done.output)["perplexity"] is None
    done = CliRunner().invoke(app, ["evaluate", str(tmp_path / "run")])
    assert "not finite" in done.output
    assert str(bad.scores["perplexity"]) == "perplexity not finite (unit:token|context:true)"


@pytest.mark.parametrize("cut", ['{"step": 2, "spl', "5", ""])
def test_a_line_that_was_cut_off_ends_it(cut: str, tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "metrics.jsonl")
    log.add(1, "train", loss=2.5)
    with log.path.open("a") as file:
        file.write(cut)
    assert [row["step"] for row in log] == [1]
