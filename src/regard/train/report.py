"""What a run leaves behind for people: a summary on the screen, a page and a picture in its folder."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from regard.recipes.sections import Recipe
from regard.tasks.prediction import Prediction
from regard.train.files import written
from regard.train.run import Run
from regard.train.trainer import Outcome
from regard.view.terminal import heat_map


def summary(run: Run, recipe: Recipe, outcome: Outcome) -> list[RenderableType]:
    """How it ended, the scores, some predictions and where they looked."""
    head = f"{outcome.reason} after step {outcome.progress.step:,}, {outcome.seconds:.0f} seconds"
    if outcome.valid is None:
        return [f"[yellow]{head}[/]; `regard train` with the same recipe goes on from there"]
    table = Table(title=f"{recipe.run}: {head}", title_justify="left")
    table.add_column("split")
    table.add_column("loss", justify="right")
    for score in outcome.valid.scores.values():
        table.add_column(escape(score.name), justify="right")
    for name, measured in (("valid", outcome.valid), ("test", outcome.test)):
        if measured is not None:
            table.add_row(name, f"{measured.loss:.4f}", *(f"{score.value:.5g}" for score in measured.scores.values()))
    measured = outcome.test or outcome.valid
    parts: list[RenderableType] = [table, *(f"  {escape(str(score))}" for score in measured.scores.values())]
    for prediction in _chosen(measured.predictions, recipe.evaluate.examples):
        if prediction.alignment is not None:
            parts += ["", heat_map(prediction.alignment, prediction.source_tokens, prediction.tokens)]
        parts.append(f"  {escape(prediction.source)}  →  [bold]{escape(prediction.text)}[/]")
    return [*parts, "", f"the run is in {run.folder}"]


def report(run: Run, recipe: Recipe, outcome: Outcome) -> None:
    """Write `report.md` and `curves.png` into the run's folder."""
    lines = [f"# {recipe.run}", "", f"{outcome.reason} after step {outcome.progress.step:,}.", ""]
    if outcome.valid is not None:
        lines += ["| split | measure | value | signature |", "|---|---|---|---|"]
        for name, measured in (("valid", outcome.valid), ("test", outcome.test)):
            for score in () if measured is None else measured.scores.values():
                lines.append(f"| {name} | {score.name} | {score.value:.5g} | {score.signature.replace('|', ' ')} |")
        lines += ["", "![loss and metrics by step](curves.png)", "", "| source | prediction |", "|---|---|"]
        measured = outcome.test or outcome.valid
        for one in _chosen(measured.predictions, 20):
            lines.append(f"| {_cell(one.source)} | {_cell(one.text)} |")
    with written(run.folder / "report.md") as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _curves(run)


def _cell(text: str) -> str:
    """A text in a table of Markdown, on one line."""
    return " ".join(text.splitlines()).replace("|", "\\|")


def _chosen(predictions: Sequence[Prediction], count: int) -> list[Prediction]:
    """Some predictions from all over the split."""
    step = max(1, len(predictions) // max(1, count))
    return list(predictions[::step][:count])


def _curves(run: Run) -> None:
    """The training and validation curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = list(run.metrics)
    names = sorted({key for row in rows if row["split"] == "valid" for key in row} - {"step", "split"})
    if not names:
        return
    figure, axes = pyplot.subplots(1, len(names), figsize=(4 * len(names), 3), squeeze=False, layout="constrained")
    for axis, name in zip(axes[0], names, strict=True):
        for split, style in (("train", "-"), ("valid", "o-")):
            points = [(row["step"], row[name]) for row in rows if row["split"] == split and name in row]
            if points:
                axis.plot(*zip(*points, strict=True), style, label=split, markersize=3)
        axis.set_title(name)
        axis.set_xlabel("step")
        axis.legend()
    with written(run.folder / "curves.png") as draft:
        figure.savefig(draft, format="png", dpi=120)
    pyplot.close(figure)
