"""`regard doctor`: checks of machine and packages."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.screen import show

_MARKS = {"ok": "[green]✓[/]", "note": "[yellow]•[/]", "missing": "[bold red]✗[/]"}


def command(
    quick: Annotated[bool, typer.Option("--quick", help="Versions and devices only; no test runs.")] = False,
) -> None:
    """Check machine and packages; exit status 1 if something needed is missing."""
    from regard.cli.doctor_checks import examine

    findings = examine(run=not quick)
    table = Table(title="regard doctor", title_justify="left", show_header=False)
    for finding in findings:
        table.add_row(_MARKS[finding.verdict], escape(finding.what), escape(finding.fact))
    show(table)
    missing = [finding.what for finding in findings if finding.verdict == "missing"]
    if missing:
        show(f"[bold red]not ready:[/] {', '.join(missing)}")
        raise typer.Exit(1)
    show("[green]ready.[/] Everything that is needed is here; lines with • name what could be added.")
