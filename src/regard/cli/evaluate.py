"""`regard evaluate`: loss and metrics of a trained model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from regard.cli.early_checks import check_input, check_output, check_runs
from regard.cli.screen import fail, notice, show

if TYPE_CHECKING:
    from regard.evaluate.bootstrap import PairedComparison
    from regard.predictor import Predictor
    from regard.tasks.measurement import Measurement
    from regard.tasks.splits import Split


def command(
    run: Annotated[Path, typer.Argument(help="Folder of a run: runs/dates")],
    files: Annotated[
        list[Path] | None, typer.Argument(help="Data file to evaluate on; source and target file of data in pairs.")
    ] = None,
    split: Annotated[
        Literal["test", "valid", "train"], typer.Option(help="Split to evaluate on, if no file is given.")
    ] = "test",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    form: Annotated[
        str | None,
        typer.Option("--format", help="Format of the file: table, jsonl, ...; default: the recipe's, or by its name."),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Input column, by name or by number from 0; twice for two texts.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Column with the right answer.")] = None,
    header: Annotated[bool | None, typer.Option(help="First line names the columns, or is data.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of the file: --encoding cp1252")] = None,
    bad_lines: Annotated[
        Literal["refuse", "skip"] | None, typer.Option(help="Stop at a line that cannot be read, or leave it out.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="JSONL file for each prediction beside the right answer.")
    ] = None,
    data: Annotated[
        list[str] | None, typer.Option(help="Data settings that differ from the recipe's: --data longest=50")
    ] = None,
    decode: Annotated[
        list[str] | None, typer.Option(help="Search settings that differ from the recipe's: --decode beam_size=10")
    ] = None,
    evaluate: Annotated[
        list[str] | None, typer.Option(help="Measurements that differ from the recipe's: --evaluate dynamic={}")
    ] = None,
    ensemble: Annotated[
        list[Path] | None, typer.Option(help="Another run, averaged with this one; repeatable.")
    ] = None,
    engine: Annotated[
        Literal["own", "ctranslate2", "onnx"], typer.Option(help="Search by regard, or by another program.")
    ] = "own",
    compute: Annotated[str | None, typer.Option(help="Number type of the search: --compute int8")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Another run to compare with, by a paired bootstrap test.")
    ] = None,
) -> None:
    """Evaluate a trained model, with the metrics of its training."""
    from regard.recipes.file_data import FileLayout

    layout = FileLayout(form, tuple(source or ()), target, header, encoding, bad_lines)
    if not files and (layout.format or layout.columns):
        fail("--format, --source, --target and --header describe a file; give the file after the run")
    for file in files or []:
        check_input(file)
    others = (*(ensemble or []), *([] if against is None else [against]))
    settings = [f"decode.{one}" for one in decode or []] + [f"evaluate.{one}" for one in evaluate or []]
    check_runs(run, others, overrides=settings)
    check_output(predictions)

    from regard.cli.early_checks import explain_file_error
    from regard.cpu_settings import tune_cpu
    from regard.evaluate.metric_result import format_number, strict
    from regard.predictor import load
    from regard.runs.files import DiskError
    from regard.runs.predictions_file import check_answers, write_predictions
    from regard.runs.run import Run
    from regard.tasks.inputs import file_overrides
    from regard.tasks.measurement import measure
    from regard.tasks.nan_locator import NotFiniteError
    from regard.tasks.splits import encode_split
    from regard.view.classes import class_table, confusion_table

    try:
        split = "test" if files else split
        overrides = file_overrides(Run(run).recipe(), files or [], layout)
        overrides += [f"data.{one}" for one in data or []] + settings
        remembered = [
            one for one in overrides if one.startswith(("decode.memory=", "decode.passages="))
        ]  # data, not a search: for both
        loaded = load(run, *(ensemble or []), overrides=overrides, engine=engine, compute=compute)
        tune_cpu(loaded.model)  # the same CPU settings as in training
        if predictions is not None:
            check_answers(loaded.task)
        found = encode_split(loaded.recipe, split, loaded.task.encoders, run.parent / ".cache")
        if found is None:
            fail(f"the recipe of {run} has no split {split!r}; try --split valid")
        answering = loaded.quick if loaded.compute == "int8" else loaded.engine
        measured = measure(loaded.model, loaded.task, found, loaded.recipe, engine=answering)
        if predictions is not None:
            write_predictions(predictions, loaded.task, found, loaded.recipe, measured)
        beside = None if against is None else load(against, overrides=remembered)
        differences = {} if beside is None else _differences(loaded, found, measured, beside)
    except (DiskError, NotFiniteError, ValueError) as problem:
        fail(explain_file_error(str(problem)))
    if found.encoded is not None and found.encoded.skipped.count:
        notice(explain_file_error(str(found.encoded.skipped)))
    on = " and ".join(map(str, files)) if files else split
    if as_json:
        signatures = {name: score.signature for name, score in measured.scores.items()}
        row: dict[str, object] = {
            "split": split,
            **({"file": on} if files else {}),
            **strict(measured.values()),
            "signatures": signatures,
        }
        if measured.classes is not None:
            row["classes"] = {name: one._asdict() for name, one in measured.classes.per_class().items()}
            row["averages"] = {name: one._asdict() for name, one in measured.classes.averages().items()}
        if measured.confusion is not None:
            row["confusion"] = measured.confusion.as_json()
        if against is not None:
            row["against"] = {name: one._asdict() for name, one in differences.items()}
        typer.echo(json.dumps(row))
        return
    runs = " + ".join(map(str, (run, *(ensemble or []))))
    table = Table(title=f"{escape(runs)}: {escape(on)}, {len(found):,} examples", title_justify="left")
    for column in ("measure", "value", "signature"):
        table.add_column(column, justify="right" if column == "value" else "left")
    table.add_row("loss", f"{measured.loss:.4f}", loaded.task.measured_in)
    for score in measured.scores.values():
        table.add_row(escape(score.name), format_number(score.value), escape(score.signature))
    show(table)
    if measured.classes is not None:
        show(class_table(measured.classes))
    if measured.confusion is not None:
        show(confusion_table(measured.confusion) or "")
    for name, difference in differences.items():
        show(f"{escape(name)}, {escape(str(against))} → {escape(str(run))}: {escape(str(difference))}")


def _differences(mine: Predictor, split: Split, measured: Measurement, other: Predictor) -> dict[str, PairedComparison]:
    """Compare each metric of this run with the other run on the same inputs."""
    from regard.tasks.measurement import hypotheses, inputs_and_references, metric_targets

    metrics = mine.recipe.metrics
    if not metrics:
        raise ValueError("--against compares answers by their metrics; a language model has none")
    questions, references = inputs_and_references(mine.task, split, mine.recipe)
    task = other.task.bind(other.model, split.examples)
    before = [answers[0] for answers in task.predict(other.model, questions, other.search)]
    return {
        metric.label: metric.compare(
            hypotheses(metric, before),
            hypotheses(metric, measured.predictions),
            metric_targets(metric, mine.task, questions, references),
        )
        for metric in metrics
    }
