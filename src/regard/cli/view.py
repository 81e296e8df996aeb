"""`regard view`: attention, states or parameters of a model, as terminal output, a page, an image or numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from regard.cli.early_checks import check_output, check_runs
from regard.cli.screen import fail, notice, show


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/dates")],
    text: Annotated[str | None, typer.Argument(help="Input text.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Output file: .html, .png, .svg, .pdf, .npz, .safetensors, .json or .pharaoh; default: the terminal."
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(help="What is drawn first: heatmap, lines, birdseye, neurons, text, curves, picture or tree."),
    ] = None,
    words: Annotated[bool, typer.Option("--words", help="Merge subwords to words.")] = False,
    states: Annotated[bool, typer.Option("--states", help="States and gates of recurrent layers over time.")] = False,
    parameters: Annotated[
        bool, typer.Option("--parameters", help="Parts of the model by size, trained or frozen; needs no text.")
    ] = False,
    paper: Annotated[bool, typer.Option("--paper", help="Picture as wide as a column, 3.5 inches.")] = False,
    decode: Annotated[
        list[str] | None, typer.Option(help="Search settings that differ from the recipe's: --decode beam_size=10")
    ] = None,
    head: Annotated[
        int | None, typer.Option(help="Attention head of a graph network, from 1; default: the mean of all.", min=1)
    ] = None,
) -> None:
    """Draw the attention of a trained model for one input."""
    from regard.view.style import check_style
    from regard.view.text import check_suffix

    overrides = [f"decode.{one}" for one in decode or []]
    check_runs(run, overrides=overrides)
    check_output(output)
    try:
        chosen = None if style is None else check_style(style)
        if output is not None:
            check_suffix(output, output.suffix)
    except ValueError as problem:
        fail(str(problem))
    if (text is None) != parameters:
        _needed(parameters)

    from regard.predictor import load

    try:
        loaded = load(run, overrides=overrides)
        view = (
            loaded.parameters()
            if text is None
            else loaded.view(text, head=head, states=states, neurons=chosen == "neurons")
        )
        view = view.styled(chosen)
        view = view.words() if words else view
        if output is None:
            show(view)
            return
        doubt = view.save(output, paper=paper)
    except ValueError as problem:
        fail(str(problem))
    if doubt is not None:
        notice(doubt)
    typer.echo(output)


def _needed(parameters: bool) -> NoReturn:
    fail("--parameters shows the model and takes no text" if parameters else "there is no text: regard view RUN TEXT")
