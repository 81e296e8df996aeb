"""What needs no PyTorch is said before it is imported: help, lists, and what is wrong with a recipe."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from regard.cli import app
from regard.parts import imported

PROBE = """
import json, sys
from typer.main import get_command
from typer.testing import CliRunner
from regard.cli import app
commands = get_command(app).list_commands(None)
for arguments in [*([command, "--help"] for command in commands), *json.loads(sys.argv[1])]:
    done = CliRunner(env={"COLUMNS": "500"}).invoke(app, arguments)
    print(json.dumps([arguments, done.exit_code, done.output, [name for name in sys.argv[2:] if name in sys.modules]]))
"""
HEAVY = ("torch", "numpy", "sacrebleu", "matplotlib", "accelerate", "tokenizers", "babel", "safetensors")
"""Packages that only training and answering need."""

PAIRS = """\
data:
  format: pairs
  train: {source: train.de, target: train.en}
  valid: {source: valid.de, target: valid.en}
model: {kind: bahdanau}
train: {steps: 1}
"""

# (the arguments, the exit status, a part of the output)
SAID = [
    (["--help"], 0, "Attention for sequence models"),
    (["--version"], 0, "regard "),
    (["recipes"], 0, "regard train dates"),
    (["recipes", "dates"], 0, "# regard train dates"),
    (["recipes", "date"], 2, "error: no recipe is called 'date'"),
    (["train", "date"], 2, "error: there is no recipe 'date'"),
    (["train", "dtaes"], 2, "did you mean dates?"),
    (["train", "part.yml"], 2, "did you mean part.yaml?"),
    (["train", "parts"], 2, "did you mean part.yaml?"),
    (["train", "run=mine"], 2, "regard train RECIPE run=mine"),
    (["train", "."], 2, "error: . is a folder"),
    (["train", "dates", "train.stepz=1"], 2, "error: the command line: there is no key 'train.stepz'"),
    (["train", "dates", "train.steps=few"], 2, "error: the command line: train.steps is 'few'"),
    (["train", "dates", "decode.n_best=0"], 2, "error: the command line: decode: n_best and beam_size are at least 1"),
    (["predict", "no/where", "x"], 2, "error: no/where is not a run: it has no recipe.yaml"),
    (["evaluate", "no/where"], 2, "error: no/where is not a run: it has no recipe.yaml"),
    (["train", "bad.yaml"], 2, "error: bad.yaml, line 1: "),
    (["train", "part.yaml"], 2, "error: part.yaml: the key 'data' is missing"),
    (["train", "pairs.yaml"], 2, "error: pairs.yaml, line 3: data.train.source: there is no file train.de; set data.r"),
    (["train", "pairs.yaml", "--dry-run"], 2, "error: pairs.yaml, line 3: data.train.source: there is no file train.d"),
    (["train", "unequal.yaml"], 2, "data: corpus/valid.de has 2 lines and corpus/valid.en has 1"),
    # Last, since the name of a metric is looked for among all of them, which import numpy.
    (["train", "dates", "evaluate.metrics=[blue]"], 2, "error: the command line: evaluate: there is no metric 'blue'"),
]


Said = tuple[list[str], int, str, list[str]]
"""Arguments, exit status, output, and the heavy packages that are imported by then."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[Said]:
    folder = tmp_path_factory.mktemp("start")
    (folder / "bad.yaml").write_text("a: b: c")
    (folder / "part.yaml").write_text("run: x")
    (folder / "pairs.yaml").write_text(PAIRS)
    (folder / "unequal.yaml").write_text(PAIRS.replace("format: pairs", "format: pairs\n  root: corpus"))
    (folder / "corpus").mkdir()
    for name, lines in (("train.de", 3), ("train.en", 3), ("valid.de", 2), ("valid.en", 1)):
        (folder / "corpus" / name).write_text("a word\n" * lines)
    command = [sys.executable, "-c", PROBE, json.dumps([arguments for arguments, _, _ in SAID]), *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("number", range(len(SAID)), ids=[" ".join(arguments) for arguments, _, _ in SAID])
def test_it_is_said_without_torch(said: list[Said], number: int) -> None:
    arguments, status, part = SAID[number]
    asked, exit_code, output, imported = said[number - len(SAID)]
    assert (asked, exit_code) == (arguments, status), output
    assert part in output
    assert "torch" not in imported
    assert imported == [] or "evaluate.metrics=[blue]" in arguments


def test_no_help_needs_torch(said: list[Said]) -> None:
    helped = said[: -len(SAID)]
    assert {"train", "recipes", "predict", "align"} <= {arguments[0] for arguments, _, _, _ in helped}
    assert [(arguments, status, imported) for arguments, status, _, imported in helped if status or imported] == []


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["train", "dtaes"], ["train", "dates", "rnu=x"]]
)
def test_it_is_said_soon(arguments: list[str]) -> None:
    """0.15 to 0.3 seconds of CPU time on an idle machine; a crowded one takes twice as much."""
    command = [sys.executable, "-m", "regard", *arguments]
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.9


def test_each_command_has_the_first_line_of_its_docstring_in_the_help() -> None:
    root = get_command(app)
    helped = CliRunner(env={"COLUMNS": "500"}).invoke(app, ["--help"]).output
    assert {"train", "align"} <= set(root.list_commands(None))
    for name, command in root.commands.items():
        (label,) = re.findall(rf"^│ {name} +(\S.*?) +│$", helped, re.MULTILINE)
        assert label == imported(command.place).__doc__.partition("\n")[0]


def test_ctrl_c_while_the_command_line_is_imported_ends_without_a_traceback() -> None:
    probe = "import os, signal, sys; from importlib.abc import MetaPathFinder as Finder\n"
    probe += "class Press(Finder):\n    def find_spec(self, name, path, target=None):\n"
    probe += "        name == 'typer' and os.kill(os.getpid(), signal.SIGINT)\n"
    probe += "signal.signal(signal.SIGINT, signal.default_int_handler); sys.meta_path.insert(0, Press())\n"
    probe += "from regard.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_misspelt_command_has_a_near_one() -> None:
    done = CliRunner().invoke(app, ["algin"])
    assert done.exit_code == 2
    assert "Did you mean 'align'" in done.output


def test_the_data_is_looked_for_before_torch_too(tmp_path: Path) -> None:
    """The folder that is set is named, with the nearest file in it."""
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/train.de.gz").write_bytes(b"")
    arguments = ["train", "pairs.yaml", "data.root=corpus"]
    done = subprocess.run([sys.executable, "-m", "regard", *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "error: pairs.yaml, line 3: data.train.source: there is no file train.de in corpus; did you mean train.de.gz?"
    )
