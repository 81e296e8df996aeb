"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from regard import __version__
from regard.cli import app, examination
from regard.ops.catalogue import catalogue

RUN = CliRunner(env={"COLUMNS": "200"})


def test_mechanisms_as_json_is_the_catalogue() -> None:
    lines = RUN.invoke(app, ["mechanisms", "--json"]).output.splitlines()
    assert [json.loads(line)["name"] for line in lines] == [entry.card.name for entry in catalogue()]


def test_one_mechanism_shows_its_card_and_documentation() -> None:
    result = RUN.invoke(app, ["mechanisms", "additive"])
    assert result.exit_code == 0
    for part in ("vᵀ tanh(W q + U k)", "regard.nn.Additive", "docs/mechanisms/additive.md", "Bahdanau's score"):
        assert part in result.output


def test_an_unknown_mechanism_is_one_sentence_with_the_nearest() -> None:
    result = RUN.invoke(app, ["mechanisms", "aditive"])
    assert result.exit_code == 2
    assert result.output.strip() == "error: no mechanism is called 'aditive'; did you mean additive?"


def test_doctor_finds_this_machine_ready() -> None:
    result = RUN.invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "blocked on cpu: largest error" in result.output
    assert "ready." in result.output


def test_doctor_names_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    known = examination._version
    monkeypatch.setattr(examination, "_version", lambda name: None if name == "safetensors" else known(name))
    result = RUN.invoke(app, ["doctor", "--quick"])
    assert result.exit_code == 1
    assert "pip install safetensors" in result.output
    assert "not ready: safetensors" in result.output


def test_doctor_notices_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        examination._RUNS,
        "scaled_dot",
        (lambda x, mask, impl: examination.ops.dot_attention(x, x, x, mask if impl == "sdpa" else None), ("sdpa",)),
    )
    assert RUN.invoke(app, ["doctor"]).exit_code == 1


def test_version_and_module_entry() -> None:
    done = subprocess.run([sys.executable, "-m", "regard", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"regard {__version__}"
