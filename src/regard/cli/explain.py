"""`regard explain`: a study of whether the attention of a model explains its answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.early_checks import check_input, check_runs
from regard.cli.screen import fail, notice, show

if TYPE_CHECKING:
    from regard.explain.study import Study
    from regard.predictor import Predictor
    from regard.recipes.data_section import SplitName
    from regard.recipes.file_data import FileLayout
    from regard.tasks.explain_controls import ExplainControls


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/reviews")],
    file: Annotated[
        Path | None, typer.Option(help="Input file, as for predict: columns, or one text per line.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="Format of the file: lines, table, jsonl, ...; default: by its name.")
    ] = None,
    source: Annotated[str | None, typer.Option(help="Input column, by name or by number from 0.")] = None,
    split: Annotated[
        Literal["test", "valid", "train"], typer.Option(help="Split to explain answers on, if no file is given.")
    ] = "test",
    limit: Annotated[int, typer.Option(help="Number of inputs, the first ones.", min=1)] = 2000,
    output: Annotated[Path | None, typer.Option(help="Folder of the report; default: explain in the run.")] = None,
    allowed: Annotated[
        float, typer.Option(help="Largest change of an answer that counts as the same.", min=0.0, max=1.0)
    ] = 0.05,
    steps: Annotated[int, typer.Option(help="Updates of the search for other weights.", min=1)] = 500,
    with_controls: Annotated[
        bool, typer.Option("--controls", help="Train controls on the split train, too: minutes for thousands of texts.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Ask whether attention explains: gradients, leave-one-out, erasure, and other weights with the same answer."""
    if file is None and (form or source):
        fail("--format and --source describe a file; give it with --file FILE")
    if file is not None and with_controls:
        fail("--controls measures accuracies on a split of the run's data; leave --file out")
    check_runs(run)
    check_input(file)

    from rich.progress import Progress

    from regard.explain.findings import findings
    from regard.explain.report import markdown, missing, panel
    from regard.explain.study import study
    from regard.predictor import load
    from regard.recipes.file_data import FileLayout
    from regard.view.panels import draw

    try:
        loaded = load(run)
        layout = FileLayout(form, () if source is None else (source,))
        inputs = list(islice(_inputs(loaded, file, layout, split), limit))
        subject = loaded.task.subject(loaded.model)
        with Progress(transient=True) as progress:
            job = progress.add_task("answers", total=None)

            def advance(done: int, total: int) -> None:
                progress.update(job, completed=done, total=total)

            outcome = study(subject, inputs, allowed=allowed, steps=steps, progress=advance)
        trained = _controls(loaded, split, limit) if with_controls else None
    except ValueError as problem:
        fail(str(problem))
    folder = run / "explain" if output is None else output
    on = f"{run}, {split if file is None else file}"
    further = None if trained is None else (trained.rows(), trained.finding())
    content = outcome.as_json() | ({} if trained is None else {"controls": dict(trained.rows())})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.md").write_text(markdown(outcome, on, further), encoding="utf-8")
        (folder / "explain.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    except OSError as problem:
        fail(f"{folder}: cannot be written ({problem.strerror})")
    panels = [panel(one) for one in outcome.examples]
    draw(panels, folder / "examples.html")
    if (doubt := draw(panels, folder / "examples.png")) is not None:
        notice(doubt)
    if as_json:
        typer.echo(json.dumps(content))
        return
    _show(outcome, [] if trained is None else trained.rows())
    for sentence in [*findings(outcome), *([] if trained is None else [trained.finding()]), *missing(outcome)]:
        show(f"- {escape(sentence)}")
    typer.echo(folder)


def _inputs(loaded: Predictor, file: Path | None, layout: FileLayout, split: SplitName) -> Iterator[Any]:
    """Yield the inputs of a file, or of a split of the run's data."""
    from regard.tasks.inputs import file_inputs
    from regard.tasks.splits import examples

    if file is not None:
        for one in file_inputs(loaded.recipe, loaded.task, file, layout):
            if one.problem is not None:
                fail(f"{one.where}: {one.problem}")
            yield loaded.task.parse(one.text)
        return
    found = examples(loaded.recipe, split)
    if found is None:
        fail(f"the recipe of {loaded.run.folder} has no split {split!r}; try --split valid")
    for example in found:
        yield loaded.task.ask(example.fields)


def _controls(loaded: Predictor, split: SplitName, limit: int) -> ExplainControls:
    """Return the controls: networks trained on the training split and evaluated on another one."""
    from regard.tasks.explain_controls import controls
    from regard.tasks.splits import examples

    train, measured = examples(loaded.recipe, "train"), examples(loaded.recipe, split)
    assert train is not None
    assert measured is not None
    return controls(loaded.recipe, loaded.task, loaded.model, train, islice(measured, limit))


def _show(outcome: Study, further: list[tuple[str, str]]) -> None:
    from regard.explain.report import ERASURE, RANKS, change_rows, erasure_rows, ranks_rows

    parts: list[tuple[str, tuple[str, ...], Sequence[tuple[str, ...]]]] = [
        ("agreement of measures", RANKS, ranks_rows(outcome)),
        (f"answers without the important {outcome.unit}s", ERASURE, erasure_rows(outcome)),
    ]
    if changed := change_rows(outcome):
        parts.append(("answers by other weights", ("intervention", "mean"), changed))
    if further:
        parts.append(("controls", ("control", "value"), further))
    for title, head, rows in parts:
        table = Table(*head, title=f"{title}, {outcome.size}", title_justify="left")
        for row in rows:
            table.add_row(*map(escape, row))
        show(table)
