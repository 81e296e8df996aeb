"""The command line."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard import __version__
from regard.cli import app, doctor_checks
from regard.ops.card import catalogue
from regard.runs.files import DiskError

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
    assert "try additive,softmax" in RUN.invoke(app, ["mechanisms", "bahdanau"]).output
    assert "no mechanism is called '[/x]'" in RUN.invoke(app, ["mechanisms", "[/x]"]).output


@pytest.mark.parametrize("name", ["Scaled-Dot", "LSTMN", "graphattention"])
def test_names_as_people_write_them(name: str) -> None:
    assert RUN.invoke(app, ["mechanisms", name]).exit_code == 0


def test_doctor_finds_this_machine_ready() -> None:
    result = RUN.invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "blocked on cpu: largest error" in result.output
    assert "ready." in result.output


def test_doctor_names_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor_checks._version
    monkeypatch.setattr(doctor_checks, "_version", lambda name: None if name == "safetensors" else known(name))
    result = RUN.invoke(app, ["doctor", "--quick"])
    assert result.exit_code == 1
    assert "pip install safetensors" in result.output
    assert "not ready: safetensors" in result.output


def test_doctor_names_what_is_newer_than_the_tests_know(monkeypatch: pytest.MonkeyPatch) -> None:
    known = doctor_checks._version
    monkeypatch.setattr(doctor_checks.torch, "__version__", "99.1.0+cpu")
    monkeypatch.setattr(doctor_checks, "_version", lambda name: "99.2" if name == "rich" else known(name))
    result = RUN.invoke(app, ["doctor", "--quick"])
    assert result.exit_code == 0  # it may well work
    lines = result.output.splitlines()
    assert [line for line in lines if "PyTorch" in line and "99.1.0+cpu, newer than the tested 2." in line]
    assert [line for line in lines if "rich" in line and "99.2, newer than the tested" in line]


def test_doctor_notices_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        doctor_checks._RUNS,
        "scaled_dot",
        (lambda x, mask, impl: doctor_checks.ops.dot_attention(x, x, x, mask if impl == "sdpa" else None), ("sdpa",)),
    )
    assert RUN.invoke(app, ["doctor"]).exit_code == 1


def command(
    *arguments: str, stdout: int | None = subprocess.PIPE, **environment: str
) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "regard", *arguments]
    return subprocess.run(run, stdout=stdout, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


def test_a_terminal_without_unicode_gets_question_marks() -> None:
    done = command("mechanisms", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "additive" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = command("mechanisms", stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr.strip() == "error: cannot write the output (No space left on device)"


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (
            PermissionError(13, "Permission denied", "/x/runs"),
            "error: /x/runs: cannot be read or written (Permission denied)",
        ),
        (DiskError("a/b: cannot be written"), "error: a/b: cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(
    problem: OSError, sentence: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*, standalone_mode: bool) -> None:
        raise problem

    main = importlib.import_module("regard.cli.main")  # not the function of that name
    monkeypatch.setattr(main, "app", fails)
    monkeypatch.setattr(main, "_forget_output", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{sentence}\n"


def test_version_and_module_entry() -> None:
    done = subprocess.run([sys.executable, "-m", "regard", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"regard {__version__}"
