"""`regard view`: picture of the attention or the memory of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from regard.cli.early_checks import check_output, check_runs
from regard.cli.screen import fail, notice


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/dates")],
    text: Annotated[str, typer.Argument(help="Input text.")],
    output: Annotated[Path, typer.Option(help="Output file: .png, .svg, .pdf or .html.")] = Path("view.png"),
    decode: Annotated[
        list[str] | None, typer.Option(help="Search settings that differ from the recipe's: --decode beam_size=10")
    ] = None,
    head: Annotated[
        int | None, typer.Option(help="Attention head of a graph network, from 1; default: the mean of all.", min=1)
    ] = None,
) -> None:
    """Draw the attention of a trained model for one input."""
    from regard.view.text import check_suffix

    overrides = [f"decode.{one}" for one in decode or []]
    check_runs(run, overrides=overrides)
    check_output(output)
    try:
        check_suffix(output, output.suffix)
    except ValueError as problem:
        fail(str(problem))

    from regard.predictor import load
    from regard.tasks.inputs import check_inputs

    try:
        loaded = load(run, overrides=overrides)
        task = loaded.task
        parsed = task.parse(text)
        check_inputs([parsed], loaded.recipe.decode.max_text)
        if task.is_blank(parsed):
            fail("the text is empty; give one whose answer can be drawn")
        doubt = task.draw(loaded.model, parsed, loaded.search, output, head=head)
    except ValueError as problem:
        fail(str(problem))
    if doubt is not None:
        notice(doubt)
    typer.echo(output)
