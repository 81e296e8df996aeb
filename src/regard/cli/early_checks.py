"""Checks of arguments that need no PyTorch, made before it is imported, and messages in terms of options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.cli.screen import fail
from regard.data.example import COLUMNS


def check_runs(
    run: Path, others: Iterable[Path] = (), *, task: str | None = None, overrides: Sequence[str] = ()
) -> None:
    """End the command unless these are trained runs of one task, whose recipe takes these overrides.

    Args:
        run: the first.
        others: what answers or is measured beside it.
        task: what all have to be trained for; None for the task of the first.
        overrides: assignments to the recipe of the first: `decode.beam_size=10`.
    """
    from regard.runs.folder import RunError, check_task, model_file, task_of

    try:
        wanted = task or task_of(run)
        for folder in (run, *others):
            check_task(folder, wanted)
            model_file(folder)
        if overrides:
            from regard.runs.agreement import recipe_of

            recipe_of(run, list(overrides), model=False)
    except (RunError, ValueError) as problem:
        fail(str(problem))


def check_input(path: Path | None) -> None:
    """End the command if an input file is missing."""
    from regard.data.formats.lines import opened
    from regard.data.problems import DataError

    if path is None or (path.exists() and not path.is_dir()):  # a pipe is opened only once, where it is read
        return
    try:
        opened(path).close()
    except DataError as problem:
        fail(str(problem))


def check_output(path: Path | None) -> None:
    """End the command if the folder of an output file is missing, before anything is computed."""
    if path is None:
        return
    if path.is_dir():
        fail(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        fail(f"{path}: cannot be written: there is no folder {path.parent}")


_OPTIONS = {
    f"set {COLUMNS}": "name columns that are there with --source and, to evaluate, --target",
    "set bad_lines to skip": "leave it out with --bad-lines skip",
    "data.encoding=": "--encoding ",
    ", or set data.max_line": "",
}


def explain_file_error(said: str) -> str:
    """Return a message about a file of the command line with what its user can do there.

    >>> explain_file_error("a.csv:3: the line is blank; mend the line or set bad_lines to skip")
    'a.csv:3: the line is blank; mend the line or leave it out with --bad-lines skip'
    """
    for key, option in _OPTIONS.items():
        said = said.replace(key, option)
    return said
