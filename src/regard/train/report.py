"""Report of a run: a summary on the terminal, and a page with figures in the run folder."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import torch
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from regard.evaluate.class_scores import ClassScores
from regard.evaluate.confusion import Confusion
from regard.evaluate.metric_result import format_number
from regard.explain.panel import Panel
from regard.recipes.data_section import SplitName
from regard.recipes.sections import Recipe
from regard.report.answers import Answers
from regard.report.material import trained_material
from regard.report.record import TrainingRecord, machine, versions
from regard.report.run_page import write_page
from regard.runs.files import atomic_path
from regard.runs.metrics_log import AVERAGED
from regard.runs.run import Run
from regard.tasks.measurement import Measurement
from regard.tasks.prediction import Prediction
from regard.tasks.task import Task
from regard.train.screen import ENDED
from regard.train.time_spent import ACTIVITIES
from regard.train.trainer import Outcome, Trainer
from regard.view.classes import CROSSED, LISTED, numbers
from regard.view.panels import draw
from regard.view.text import cell

_FEW = 30  # maximum number of points of a curve that have markers
_ACROSS = 4  # figures per row
_CONFUSION = "confusion.png"
_MISTAKES = 20


def summary(run: Run, recipe: Recipe, task: Task, outcome: Outcome) -> list[RenderableType]:
    """Return the outcome, the metrics and some predictions with their attention, for the terminal."""
    head = _ending(outcome)
    if outcome.valid is None:
        return [f"[yellow]{head}[/]; `regard train` with the same recipe goes on from there"]
    table = Table()
    table.add_column("split")
    table.add_column("loss", justify="right")
    for score in outcome.valid.scores.values():
        table.add_column(escape(score.name), justify="right")
    for name, measured in _measured(outcome):
        table.add_row(
            name, f"{measured.loss:.4f}", *(format_number(score.value, ".5g") for score in measured.scores.values())
        )
    measured = outcome.test or outcome.valid
    parts: list[RenderableType] = [Text.assemble((recipe.run, "bold"), f": {head}"), table]
    parts += [f"  {escape(str(score))}" for score in measured.scores.values()]
    for prediction in _chosen(measured.predictions, recipe.evaluate.examples):
        parts += task.rendered(prediction)
    parts += [f"time: {outcome.time}"] if outcome.time else []
    return [*parts, "", f"the run is in {escape(str(run.folder))}"]


def report(run: Run, recipe: Recipe, outcome: Outcome) -> None:
    """Write `report.md` and `curves.png` into the run's folder."""
    lines = [f"# {recipe.run}", "", f"{_ending(outcome)}.", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in _facts(run, recipe, outcome)]
    if outcome.valid is not None:
        lines += ["", "| split | measure | value | signature |", "|---|---|---|---|"]
        for name, one in _measured(outcome):
            lines.append(f"| {name} | loss | {one.loss:.4f} | {one.loss_unit} |")
            for score in one.scores.values():
                lines.append(
                    f"| {name} | {cell(score.name)} | {format_number(score.value, '.5g')} | {cell(score.signature)} |"
                )
    if _curves(run, recipe, outcome):
        lines += ["", "![loss and metrics by step](curves.png)"]
    measured = outcome.test or outcome.valid
    if measured is not None and measured.classes is not None:
        split = "test" if outcome.test is not None else "valid"
        lines += ["", f"## Classes: {split}", "", *_class_lines(measured.classes)]
    if measured is not None and measured.confusion is not None:
        lines += _confusion_lines(measured.confusion)
        _draw_confusion(measured.confusion, run.folder)
    if measured is not None and measured.predictions:
        lines += ["", *_predictions(_chosen(measured.predictions, 20))]
    with atomic_path(run.folder / "report.md") as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")


def report_page(trainer: Trainer, outcome: Outcome, command: str) -> None:
    """Write `report.html`, the predictions of the test split, and `report.json` with facts known only to this process.

    None of its failures ends a run.

    Args:
        trainer: trainer of the run, after training.
        outcome: outcome of the training.
        command: command line that started the training.
    """
    time, screen = trainer.time, trainer.screen
    try:
        seconds = time.by_activity()
        TrainingRecord(
            command=command,
            ended=_ending(outcome),
            finished=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
            seconds=seconds,
            counts={name: time.count(name) for name in ACTIVITIES if name in seconds},
            warnings=list(dict.fromkeys(screen.notices)),
            versions=versions(),
            machine=machine(),
        ).save(trainer.run.folder)
        splits: dict[SplitName, Measurement | None] = {"valid": outcome.valid, "test": outcome.test}
        found = trained_material(trainer.run.folder, trainer.splits, splits)
        if (answers := Answers.made(found)) is not None:
            answers.save(trainer.run.folder)
        write_page(found)
    except Exception as problem:  # any error: the report must not end the run
        why = str(problem).partition("\n")[0] or type(problem).__name__
        screen.notice(f"the page report.html was not written ({why}); `regard report {trainer.run.folder}` tries again")


def _ending(outcome: Outcome) -> str:
    """Return a message about the end of a run: reason, step and time."""
    step, reason = outcome.progress.step, ENDED[outcome.reason]
    if outcome.begun == step:
        return f"{reason} already, after step {step:,}; measured again"
    since = f" since step {outcome.begun:,}" if outcome.begun else ""
    return f"{reason} after step {step:,}, {_lasted(outcome.seconds)}{since}"


def _lasted(seconds: float) -> str:
    count = round(seconds)
    return f"{count:,} second{'' if count == 1 else 's'}"


def _measured(outcome: Outcome) -> list[tuple[str, Measurement]]:
    """Return the splits that were evaluated at the end."""
    return [(name, one) for name, one in (("valid", outcome.valid), ("test", outcome.test)) if one is not None]


def _facts(run: Run, recipe: Recipe, outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Yield names and values of the table at the top of the report."""
    train, progress = recipe.train, outcome.progress
    yield "model", f"{recipe.model.kind}, {outcome.parameters:,} parameters"
    yield "examples", ", ".join(f"{count:,} {split}" for split, count in outcome.examples.items())
    if outcome.skipped:
        yield "left out", cell("; ".join(outcome.skipped))
    yield "updates", f"{progress.step:,} of {train.updates:,}"
    if train.average > 1:
        taken = len(run.checkpoints(keep=train.average, every=train.checkpoint_updates or 1).last())
        few = f" ({train.average} were asked for)" if taken < train.average else ""
        yield "kept", f"the mean of the last {taken} checkpoint{'' if taken == 1 else 's'}{few}"
    elif progress.best is not None:
        yield "kept", f"step {progress.best_step:,}, the best by {' and '.join(recipe.select)}"
    if outcome.begun < progress.step:
        yield "seconds", f"{outcome.seconds:,.0f}" + (f" since step {outcome.begun:,}" if outcome.begun else "")
    if outcome.time:
        yield "time", outcome.time
    yield "seed", str(train.seed)
    if outcome.reason != "patience":
        yield "to go on", f"`{_command(run, recipe, longer=outcome.reason == 'finished')}`"


def _command(run: Run, recipe: Recipe, *, longer: bool) -> str:
    """Return the command that resumes the run from the recipe in its folder."""
    folder = run.folder
    words = ["regard", "train", str(folder / "recipe.yaml"), "--runs", str(folder.parent)]
    if folder.name != recipe.run:
        words.append(f"run={folder.name}")
    if longer:
        minutes, steps = recipe.train.minutes, recipe.train.steps
        words.append(f"train.steps={2 * (steps or 1)}" if minutes is None else f"train.minutes={2 * minutes:g}")
    return shlex.join(words)


def _predictions(chosen: Sequence[Prediction]) -> Iterator[str]:
    """Yield a table of predictions, with the references where there are any."""
    known = any(one.reference is not None for one in chosen)
    yield "| source | prediction |" + " reference |" * known
    yield "|---|---|" + "---|" * known
    for one in chosen:
        yield f"| {cell(one.source)} | {cell(one.said())} |" + f" {cell(one.reference or '')} |" * known


def _chosen(predictions: Sequence[Prediction], count: int) -> list[Prediction]:
    """Select some predictions, evenly spread over the split."""
    step = max(1, len(predictions) // max(1, count))
    return list(predictions[::step][:count])


def _curves(run: Run, recipe: Recipe, outcome: Outcome) -> bool:
    """Draw the curves of training and validation, the selecting metric first; return False without a validation."""
    from matplotlib.figure import Figure

    rows = list(run.metrics)
    found = dict.fromkeys(key for row in rows if row["split"] == "valid" for key in row if key not in ("step", "split"))
    names = sorted(found, key=lambda name: name != recipe.select[0])
    if not names:
        return False
    columns = min(len(names), _ACROSS)
    rows_of = -(-len(names) // columns)
    # Margins of a fixed size: matplotlib's layout engines draw everything a second time to find theirs.
    width, height = 4 * columns, 3 * rows_of
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(rows_of, columns, squeeze=False)
    figure.subplots_adjust(
        0.6 / width, 0.5 / height, 1 - 0.15 / width, 1 - 0.35 / height, wspace=0.75 / 3.25, hspace=0.85 / 2.15
    )
    for axis in axes.flat[len(names) :]:
        axis.set_axis_off()
    for axis, name in zip(axes.flat, names, strict=False):
        for split, colour, mark in (("train", "C0", "."), ("valid", "C1", "o"), (AVERAGED, "C1", "*")):
            points = [(row["step"], row[name]) for row in rows if row["split"] == split and name in row]
            if points:
                marked = mark if len(points) <= _FEW else None
                axis.plot(*zip(*points, strict=True), color=colour, marker=marked, label=split.replace("_", ", "))
        if recipe.train.average == 1:
            axis.axvline(outcome.progress.best_step, color="grey", linestyle=":", label="kept")
        axis.set_title(name.replace("_", " "))
        axis.set_xlabel("step")
        axis.legend()
    with atomic_path(run.folder / "curves.png") as draft:
        figure.savefig(draft, format="png", dpi=120)
    return True


def _class_lines(scores: ClassScores) -> Iterator[str]:
    """Return the lines of Markdown about the classes of a split."""
    found, largest = scores.per_class(), scores.most_frequent(LISTED)
    yield from ("| class | precision | recall | F1 | count |", "|---|---:|---:|---:|---:|")
    for name in largest:
        yield _row(cell(name), *numbers(*found[name]))
    if (left := len(found) - len(largest)) > 0:
        yield _row(f"*and {left:,} rarer classes*", *[""] * 4)
    for name, average in scores.averages().items():
        yield _row(f"**{name}**", *numbers(*average))


def _confusion_lines(confusion: Confusion) -> Iterator[str]:
    """Return the lines of Markdown about the most frequent confusions."""
    yield ""
    if len(confusion.names) <= CROSSED:
        yield _row("true \\\\ predicted", *map(cell, confusion.names))
        yield f"|---|{'---:|' * len(confusion.names)}"
        for name, counts in zip(confusion.names, confusion.counts.tolist(), strict=True):
            yield _row(cell(name), *(f"{count:,}" for count in counts))
    else:
        yield from ("| true | predicted | times |", "|---|---|---:|")
        for true, claimed, times in confusion.mistakes(_MISTAKES):
            yield _row(cell(true), cell(claimed), f"{times:,}")
    yield from ("", f"![share of each true class that is predicted as each class]({_CONFUSION})")


def _draw_confusion(confusion: Confusion, folder: Path) -> None:
    """Draw the confusion matrix: one row per true class, and darker cells for larger shares of that class."""
    part, found = confusion.largest(LISTED), confusion.scores().per_class()
    supports = torch.tensor([found[name].support for name in part.names], device="cpu")
    shares = torch.from_numpy(part.counts) / supports.clamp(min=1).unsqueeze(1)  # [C, C]
    panel = Panel("share of each true class", shares, "true", "predicted", part.names, part.names)
    with atomic_path(folder / _CONFUSION) as draft:
        draw([panel], draft, suffix=".png")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
