"""`regard view`: a picture of what a model attends to, or of what it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.screen import fail, show


def command(
    run: Annotated[Path, typer.Argument(help="The folder of a run: runs/dates")],
    text: Annotated[str, typer.Argument(help="What to ask.")],
    output: Annotated[Path, typer.Option(help="The picture: .png, .svg or .pdf.")] = Path("view.png"),
) -> None:
    """Draw what a trained model looks at while it answers, step by step."""
    from regard.loading import load
    from regard.view.panels import draw

    try:
        loaded = load(run)
        draw(loaded.task.panels(loaded.model, text, loaded.search), output)
    except ValueError as problem:
        fail(str(problem))
    show(f"{output}")
