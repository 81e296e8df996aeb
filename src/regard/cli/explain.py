"""`regard explain`: a study of whether the attention of a model explains its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.early_checks import check_runs
from regard.cli.screen import fail, notice, show

if TYPE_CHECKING:
    from regard.explain.study import Study


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/reviews")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Data file to explain answers on, in the recipe's format.")
    ] = None,
    split: Annotated[
        Literal["test", "valid", "train"], typer.Option(help="Split to explain answers on, if no file is given.")
    ] = "test",
    limit: Annotated[int, typer.Option(help="Number of texts, the first ones.", min=1)] = 2000,
    output: Annotated[Path | None, typer.Option(help="Folder of the report; default: explain in the run.")] = None,
    allowed: Annotated[
        float, typer.Option(help="Largest change of an answer that counts as the same.", min=0.0, max=1.0)
    ] = 0.05,
    steps: Annotated[int, typer.Option(help="Updates of the search for other weights.", min=1)] = 500,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Ask whether attention explains: gradients, leave-one-out, erasure, and other weights with the same answer."""
    if missing := next((file for file in files or [] if not file.exists()), None):
        fail(f"{missing}: there is no such file")
    check_runs(run)

    from rich.progress import Progress

    from regard.explain.findings import findings
    from regard.explain.report import markdown, panel
    from regard.explain.study import study
    from regard.predictor import load
    from regard.recipes.file_data import Layout
    from regard.runs.run import Run
    from regard.tasks.inputs import file_overrides
    from regard.tasks.splits import examples
    from regard.view.panels import draw

    try:
        layout = Layout(None, (), None, None, None, None)  # as the recipe has it
        loaded = load(run, overrides=file_overrides(Run(run).recipe(), files or [], layout))
        found = examples(loaded.recipe, "test" if files else split)
        if found is None:
            fail(f"the recipe of {run} has no split {split!r}; try --split valid")
        inputs = [loaded.task.ask(one.fields) for one, _ in zip(found, range(limit), strict=False)]
        subject = loaded.task.subject(loaded.model)
        with Progress(transient=True) as progress:
            job = progress.add_task("texts", total=len(inputs))
            outcome = study(
                subject, inputs, allowed=allowed, steps=steps, progress=lambda done: progress.advance(job, done)
            )
    except ValueError as problem:
        fail(str(problem))
    folder = run / "explain" if output is None else output
    on = " and ".join(map(str, files)) if files else f"{run}, {split}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.md").write_text(markdown(outcome, on), encoding="utf-8")
        (folder / "explain.json").write_text(json.dumps(outcome.as_json(), indent=1), encoding="utf-8")
    except OSError as problem:
        fail(f"{folder}: cannot be written ({problem.strerror})")
    panels = [panel(one) for one in outcome.examples]
    draw(panels, folder / "examples.html")
    if (doubt := draw(panels, folder / "examples.png")) is not None:
        notice(doubt)
    if as_json:
        typer.echo(json.dumps(outcome.as_json()))
        return
    _show(outcome)
    for sentence in findings(outcome):
        show(f"- {escape(sentence)}")
    typer.echo(folder)


def _show(outcome: Study) -> None:
    from regard.explain.report import ERASURE, RANKS, change_rows, erasure_rows, ranks_rows

    parts = (
        ("agreement of measures", RANKS, ranks_rows(outcome)),
        ("answers without the important words", ERASURE, erasure_rows(outcome)),
        ("answers by other weights", ("intervention", "mean"), change_rows(outcome)),
    )
    for title, head, rows in parts:
        table = Table(*head, title=f"{title}, {outcome.texts:,} texts", title_justify="left")
        for row in rows:
            table.add_row(*map(escape, row))
        show(table)
