"""Checks of arguments made before PyTorch is imported, and error messages in terms of command-line options."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.cli.screen import fail
from regard.data.example import COLUMNS


def check_runs(
    run: Path, others: Iterable[Path] = (), *, task: str | None = None, overrides: Sequence[str] = ()
) -> None:
    """End the command unless these are trained runs of the same task, and the overrides are valid.

    Args:
        run: first run.
        others: further runs, of an ensemble or for comparison.
        task: task of all runs; None for that of the first one.
        overrides: overrides of the first run's recipe, such as `decode.beam_size=10`.
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

    # a pipe can be opened only once, so it is not opened here
    if path is None or (path.exists() and not path.is_dir()):
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
    """Rewrite an error about a data file with command-line options instead of recipe keys.

    >>> explain_file_error("a.csv:3: the line is blank; mend the line or set bad_lines to skip")
    'a.csv:3: the line is blank; mend the line or leave it out with --bad-lines skip'
    """
    for key, option in _OPTIONS.items():
        said = said.replace(key, option)
    return said
