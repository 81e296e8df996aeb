"""What happens when something is wrong, case by case; `benchmarks/robustness.py` writes the same as a page."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from benchmarks.robustness import Ended, typed
from benchmarks.robustness_cases import GROUPS, Case
from benchmarks.robustness_lab import release, write_files

from regard.cli import app
from tests.cli.command import RUN, asked

ROOT = Path(__file__).parents[2]
CASES = [case for cases in GROUPS.values() for case in cases]
QUICK = [case for case in CASES if case.quick]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_default_device(None)
    folder = tmp_path_factory.mktemp("robustness")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for recipe in ("digits.yaml", "reviews.yaml"):
            asked("train", recipe)
    return folder


@pytest.mark.parametrize("case", QUICK, ids=lambda case: case.name)
def test_a_case_ends_as_it_has_to(case: Case, lab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_device(None)
    folder = Path(shutil.copytree(lab, tmp_path / "lab"))
    monkeypatch.chdir(folder)
    kept = case.damage(folder)
    done = RUN.invoke(app, list(case.command), input=case.stdin)
    release(kept)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    assert Ended(done.exit_code, done.output).problem(case) is None


def test_the_page_has_every_case_once_and_in_order() -> None:
    page = (ROOT / "docs/notebook/robustness.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!case|---)(.+?) \| `(.+?)` \| (\d+) \|", page, re.MULTILINE)
    assert rows == [(case.name, typed(case.command), str(case.status)) for case in CASES]


def test_names_of_cases_differ() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.long
def test_every_case_in_a_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.robustness", "--write", str(tmp_path / "page.md")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "page.md").exists()
