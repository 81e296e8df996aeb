"""`regard bench`, end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.bench.gate import GateResult
from regard.cli import app

RUN = CliRunner(env={"COLUMNS": "200"})


def test_a_quick_run(tmp_path: Path) -> None:
    names = ("scaled_dot", "bilinear", "cosine", "additive", "graph")
    done = RUN.invoke(
        app, ["bench", "--quick", "--out", str(tmp_path), *(part for name in names for part in ("--only", name))]
    )
    assert done.exit_code == 0, done.output
    assert "vs plain" in done.output
    report = json.loads((tmp_path / "bench.json").read_text())
    assert [row["mechanism"] for row in report["rows"]] == [name for name in names for _ in range(2)]
    assert all(row["ratios"]["plain"] > 0 for row in report["rows"])
    assert report["gate"] > 0
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


def test_a_red_gate_prints_no_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def red(*_: object) -> Iterator[GateResult]:
        yield GateResult("graph, 3 edges, 2×1×1", "float32", "output", 0.5, 0.1)

    monkeypatch.setattr("regard.bench.gate.verify", red)
    done = RUN.invoke(app, ["bench", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "error 5.00e-01, allowed 1.00e-01" in done.output
    assert "ms" not in done.output
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_mechanism() -> None:
    done = RUN.invoke(app, ["bench", "--only", "grap"])
    assert done.exit_code == 2
    assert "did you mean graph?" in done.output
