"""What happens when something is wrong: each case as a command in a process, in a table of Markdown.

    python -m benchmarks.robustness --write docs/notebook/robustness.md

A case fails if its command exits otherwise, does not print what it should, or prints a traceback; then the script exits
with status 1 and writes nothing. One core, a minute and a half.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

import torch

from benchmarks.robustness_cases import GROUPS, Case
from benchmarks.robustness_lab import release, write_files
from regard.cli import main

SECONDS = 60.0
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "ACCELERATE_USE_CPU": "true", "RUST_BACKTRACE": "0"}
_HEAD = """\
# Robustness

*What a wrong input, a damaged file or a full memory leads to: each line is a command that was run, with its exit status
and what it printed.*

    python -m benchmarks.robustness --write docs/notebook/robustness.md

Written by that script, whose cases are also tests (`tests/system/test_robustness.py`; those that need a process of
their own with `pytest -m long`). Two runs of 20 updates are made first; each case begins with a copy of them. Status 2
is a refusal, 128 + n a stop by signal n, 0 a success.
"""
_WIDTH = 170


class Ended(NamedTuple):
    """End of a command."""

    status: int
    output: str

    def problem(self, case: Case) -> str | None:
        """Return what differs from the case; None if nothing does."""
        if "Traceback (most recent call last)" in self.output:
            return f"it ends with a traceback: {self.output[-500:]}"
        if self.status != case.status:
            return f"it exits with {self.status} instead of {case.status}: {self.output[-500:]}"
        return None if case.says in self.output else f"it does not print {case.says!r}: {self.output[-500:]}"


def make_lab(folder: Path) -> None:
    """Write data, and train the runs that cases begin with."""
    write_files(folder)
    for recipe in ("digits.yaml", "reviews.yaml"):
        command = [sys.executable, "-m", "regard", "train", recipe]
        subprocess.run(command, cwd=folder, env={**os.environ, **_ENVIRONMENT}, check=True, capture_output=True)


def ended(case: Case, lab: Path) -> Ended:
    """Run a case in a copy of the lab, in a fork of this process, which has imported PyTorch already."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(shutil.copytree(lab, Path(place) / "lab"))
        kept = case.damage(folder)
        found = (_on_terminal if case.terminal else _piped)(case, folder)
        release(kept)
        return Ended(found.status, found.output.replace(f"{folder}/", "").replace(str(folder), "."))


def _piped(case: Case, folder: Path) -> Ended:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output:
        given.write(case.stdin or b"")
        given.seek(0)
        child = os.fork()
        if child == 0:
            for number, file in ((0, given), (1, output), (2, output)):
                os.dup2(file.fileno(), number)
            _become(case, folder)
        if case.stop is not None:
            _await(folder / "runs/stopped/checkpoints")
            os.kill(child, case.stop)
        status = _status(child)
        output.seek(0)
        return Ended(status, output.read().decode("utf-8", "replace"))


def _on_terminal(case: Case, folder: Path) -> Ended:
    child, terminal = pty.fork()
    if child == 0:
        _become(case, folder)
    output = bytearray()
    with suppress(OSError):  # the other end is closed
        while part := os.read(terminal, 4096):
            output += part
    os.close(terminal)
    return Ended(_status(child), output.decode("utf-8", "replace"))


def _become(case: Case, folder: Path) -> NoReturn:
    """Turn a forked process into the command."""
    status = 1
    try:
        os.chdir(folder)
        if case.memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (case.memory, case.memory))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which `nohup` ignores, and a run under it too
        for number, name in ((1, "stdout"), (2, "stderr")):
            setattr(sys, name, open(number, "w", encoding="utf-8", buffering=1, closefd=False))  # noqa: SIM115
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.argv = ["regard", *case.command]
        main()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)


def _status(child: int) -> int:
    """Return the exit status of a process; -1 if it takes too long."""
    until = time.monotonic() + SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -1
        time.sleep(0.01)


def _await(checkpoints: Path) -> None:
    """Wait until a run has a checkpoint."""
    until = time.monotonic() + SECONDS
    while not any(checkpoints.glob("[0-9]*")) and time.monotonic() < until:
        time.sleep(0.02)


def shown(case: Case, output: str) -> str:
    """Return the line of an output that a case is about, short enough for a table."""
    lines = [line.strip() for line in re.sub(r"[┃│]", " ", output).splitlines() if line.strip()]
    wanted = case.says.strip().splitlines()[0] if case.says.strip() else ""
    line = next((line for line in lines if line.startswith("error: ")), None)
    line = line or next((line for line in lines if wanted in line), lines[-1] if lines else "")
    line = re.sub(r"(\d)\1{20,}(\.\.\.)?", r"\1\1\1...", re.sub(r"\s+", " ", line))
    if len(line) > _WIDTH:
        begin = max(0, min(line.find(wanted) - _WIDTH // 2, len(line) - _WIDTH))
        line = f"{'... ' if begin else ''}{line[begin : begin + _WIDTH].strip()} ..."
    return line.replace("\x1b", "\\x1b").replace("|", "\\|").replace("`", "'")


def typed(command: tuple[str, ...]) -> str:
    """Return a command as it stands in the table."""
    parts = [re.sub(r"(.)\1{20,}", r"\1\1\1...", part.encode("utf-8", "backslashreplace").decode()) for part in command]
    return " ".join(f'"{part}"' if " " in part else part for part in parts).replace("|", "\\|")


def table(rows: list[tuple[Case, Ended]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| case | command | status | it prints |"
    yield "|---|---|---|---|"
    for case, end in rows:
        yield f"| {case.name} | `{typed(case.command)}` | {end.status} | `{shown(case, end.output)}` |"


def run() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="page that is written if every case ended as it has to")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    asked = parser.parse_args()
    os.environ.update(_ENVIRONMENT)
    torch.set_num_threads(1)  # a process with more threads must not be forked
    page, wrong = [_HEAD], 0
    with tempfile.TemporaryDirectory() as place:
        make_lab(Path(place))
        for title, cases in GROUPS.items():
            rows = []
            for case in cases:
                if asked.only not in case.name:
                    continue
                begin = time.monotonic()
                rows.append((case, ended(case, Path(place))))
                problem = rows[-1][1].problem(case)
                wrong += problem is not None
                print(
                    f"{time.monotonic() - begin:5.1f} s  {'ok' if problem is None else problem}  {case.name}",
                    flush=True,
                )
            page += [f"## {title}\n", *table(rows), ""]
    if wrong:
        sys.exit(f"{wrong} cases ended otherwise")
    if asked.write is not None:
        asked.write.write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    run()
