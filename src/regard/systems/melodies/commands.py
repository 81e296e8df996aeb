"""`regard play`: generate tunes or read them from a file, and write ABC, MIDI and WAV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from regard.cli.early_checks import check_runs
from regard.cli.screen import fail, notice, show


def command(
    source: Annotated[Path, typer.Argument(help="Folder of a run of the task melody, or an ABC file.")],
    prompt: Annotated[str, typer.Option(help="Begin of the tunes: 'M:6/8 K:G'; default: the model begins.")] = "",
    tunes: Annotated[int, typer.Option(help="Number of tunes to generate.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the samples.")] = 0,
    tempo: Annotated[float | None, typer.Option(help="Quarter notes per minute; default: the tune's.")] = None,
    output: Annotated[Path, typer.Option(help="Output folder.")] = Path("tunes"),
    decode: Annotated[
        list[str] | None, typer.Option(help="Search settings that differ from the recipe's: --decode temperature=0.7")
    ] = None,
) -> None:
    """Generate melodies, write each as ABC, MIDI and WAV, and list their errors."""
    if tempo is not None and not 10 <= tempo <= 1000:
        fail(f"--tempo {tempo:g}: it lies between 10 and 1000 quarter notes per minute")
    if output.exists() and not output.is_dir():
        fail(f"--output {output}: this is a file; name a folder")
    if source.is_file() and (prompt or decode):
        fail(f"{source} is a file of tunes; --prompt and --decode are for runs")
    if not source.is_file():
        check_runs(source, task="melody", overrides=[f"decode.{one}" for one in decode or []])

    from regard.data.problems import DataError
    from regard.systems.melodies.playing import generated, read, write

    try:
        found = (
            read(source)
            if source.is_file()
            else generated(source, prompt, tunes, seed=seed, overrides=[f"decode.{one}" for one in decode or []])
        )
        output.mkdir(parents=True, exist_ok=True)
        for number, (text, tune) in enumerate(found, start=1):
            for problem in (*tune.errors, *tune.remarks):
                notice(f"tune {number}: {problem}")
            try:
                write(output / f"{number:03d}", text, tune, tempo=tempo)
            except DataError as problem:
                notice(f"tune {number}: {problem}")
    except (DataError, OSError, ValueError) as problem:
        fail(str(problem))
    parsed = sum(not tune.errors for _, tune in found)
    regular = sum(not tune.errors and not tune.remarks for _, tune in found)
    show(f"{escape(str(output))}: {parsed} of {len(found)} tunes parse, {regular} without a remark")
