"""`regard report`: HTML report of a run."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from regard.cli.early_checks import check_output
from regard.cli.screen import fail


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/dates")],
    output: Annotated[Path | None, typer.Option(help="Output file; default: report.html in the run.")] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
) -> None:
    """Write the page of a run, trained today or long ago: curves, answers, attention, errors, data, recipe."""
    from regard.runs.folder import RunError, task_of

    try:
        task_of(run)
    except RunError as problem:
        fail(str(problem))
    check_output(output)
    if output is not None and output.suffix != ".html":
        fail(f"{output}: the page is HTML; name a file that ends in .html")

    from regard.report.material import material
    from regard.report.run_page import write_page
    from regard.runs.files import DiskError

    try:
        written = write_page(material(run), output)
    except (DiskError, ValueError) as problem:
        fail(str(problem))
    typer.echo(written)
    if open_:
        webbrowser.open(written.resolve().as_uri())
