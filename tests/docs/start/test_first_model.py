"""The commands of docs/start are run as written; the model of dates is trained for fewer steps."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from regard.cli import app

START = Path(__file__).parents[3] / "docs" / "start"
SHORT = ["train.steps=3", "data.train_size=200", "data.valid_size=20", "data.test_size=20", "model.hidden_dim=16"]
Run = Callable[[str], Result]


def commands(page: str) -> list[str]:
    return re.findall(r"^\$ regard (.+)$", (START / page).read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a command of a page in one folder for the whole page; `train` gets the short settings."""
    folder, runner = tmp_path_factory.mktemp("start"), CliRunner(env={"ACCELERATE_USE_CPU": "true"})

    def invoke(line: str) -> Result:
        words = shlex.split(line)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            return runner.invoke(app, words + SHORT if words[0] == "train" else words)

    return invoke


@pytest.mark.parametrize("page", ["first_model.md", "attention.md"])
def test_the_commands_of_a_page_run_one_after_the_other(page: str, run: Run) -> None:
    if page == "attention.md":
        assert run("train dates").exit_code == 0
    found = commands(page)
    assert len(found) >= 3
    for line in found:
        done = run(line)
        assert done.exit_code == 0, f"{line}: {done.output}"


def test_every_step_of_the_first_hour_is_a_command_that_exists() -> None:
    steps = re.findall(r"`regard (\w+)", (START / "README.md").read_text(encoding="utf-8"))
    known = set(get_command(app).list_commands(None))
    assert {"train", "predict", "view", "evaluate", "compare"} <= set(steps) <= known
