"""What a run leaves behind for people."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from rich.console import Console

from regard.data import Tokenizer
from regard.evaluate.confusion import Confusion
from regard.evaluate.metric_result import MetricResult
from regard.recipes.load import load
from regard.runs.checkpoint import Progress
from regard.runs.run import Run
from regard.systems.tagging.task import Tagging
from regard.systems.translation.task import Translation
from regard.tasks.measurement import Measurement
from regard.tasks.prediction import Prediction
from regard.tasks.task import Task
from regard.train.report import report, summary
from regard.train.trainer import Outcome
from tests.train.tiny import recipe, train

RIGHT = Prediction("1 2", "1 2", -0.1, ("1", "2"), ("1", "2"), (-0.1, -0.1), torch.eye(2), reference="1 2")
WRONG = Prediction("a|b <unk>\nc", "*d*", -0.1, ("1", "2"), ("1", "2"), (-0.1, -0.1), reference="$e$ / f")

WORDS = Tokenizer.train(["1 2"], kind="words")
TRANSLATION = Translation({"source": WORDS, "target": WORDS})


def outcome(*predictions: Prediction, reason: str = "finished", seconds: float = 75.4, begun: int = 0) -> Outcome:
    """A run of 40 steps of which the 20th was best."""
    scores = {"exact_match": MetricResult("exact match", 0.5, "nrefs:1|case:mixed", 2)}
    measured = Measurement(1.25, scores, predictions, None)
    found = None if reason == "interrupted" else measured
    progress = Progress(step=40, best=0.5, best_step=20)
    return Outcome(progress, reason, found, found, seconds, begun, 1234, {"train": 2000, "valid": 2})


def page(run: Run, ended: Outcome, *overrides: str) -> list[str]:
    report(run, recipe(*overrides), ended)
    return (run.folder / "report.md").read_text(encoding="utf-8").splitlines()


def screen(run: Run, ended: Outcome, *overrides: str, task: Task = TRANSLATION) -> list[str]:
    said = io.StringIO()
    console = Console(file=said, width=120, highlight=False)
    for part in summary(run, recipe(*overrides), task, ended):
        console.print(part)
    return said.getvalue().splitlines()


def test_what_is_right_stands_beside_what_was_said(tmp_path: Path) -> None:
    lines = page(Run(tmp_path), outcome(RIGHT, WRONG))
    table = lines[lines.index("| source | prediction | reference |") :]
    assert table[1:] == [
        "|---|---|---|",
        "| 1 2 | 1 2 | 1 2 |",
        r"| a\|b &lt;unk><br>c | \*d\* | \$e\$ / f |",
    ]


def test_classes_have_a_table_a_matrix_and_a_picture(tmp_path: Path) -> None:
    found = Confusion.of([("a|b", "a|b"), ("a|b", "c"), ("c", "c"), ("c", "c")])
    measured = Measurement(1.0, {}, (), None, found)
    lines = page(Run(tmp_path), replace(outcome(), valid=measured, test=None))
    begin = lines.index("## Classes: valid")
    assert lines[begin + 2 : begin + 9] == [
        "| class | precision | recall | F1 | count |",
        "|---|---:|---:|---:|---:|",
        r"| a\|b | 1.0000 | 0.5000 | 0.6667 | 2 |",
        "| c | 0.6667 | 1.0000 | 0.8000 | 2 |",
        "| **macro** | 0.8333 | 0.7500 | 0.7333 | 4 |",
        "| **micro** | 0.7500 | 0.7500 | 0.7500 | 4 |",
        "| **weighted** | 0.8333 | 0.7500 | 0.7333 | 4 |",
    ]
    assert r"| a\|b | 1 | 1 |" in lines
    assert "![share of each true class that is predicted as each class](confusion.png)" in lines
    assert (tmp_path / "confusion.png").read_bytes().startswith(b"\x89PNG")


def test_many_classes_are_cut_and_their_mistakes_named(tmp_path: Path) -> None:
    names = [f"c{number:02d}" for number in range(50)]
    pairs = [(name, name) for name in names for _ in range(3)] + [("c07", "c08")] * 2
    lines = page(Run(tmp_path), replace(outcome(), test=Measurement(1.0, {}, (), None, Confusion.of(pairs))))
    assert "## Classes: test" in lines
    assert r"| *and 10 rarer classes* |  |  |  |  |" in lines
    assert lines[lines.index("| true | predicted | times |") + 2] == "| c07 | c08 | 2 |"
    assert not [line for line in page(Run(tmp_path), outcome()) if "Classes" in line]


def test_a_text_that_goes_on_has_no_reference(tmp_path: Path) -> None:
    lines = page(Run(tmp_path), outcome(Prediction("to be", "to be or", -0.1, (), (), ())))
    assert lines[-3:] == ["| source | prediction |", "|---|---|", "| to be | to be or |"]
    assert "prediction" not in "".join(page(Run(tmp_path), outcome()))


def test_the_page_begins_with_what_a_reader_of_numbers_asks(tmp_path: Path) -> None:
    lines = page(Run(tmp_path / "tiny"), outcome(RIGHT), "train.seed=7")
    assert lines[:3] == ["# tiny", "", "finished after step 40, 75 seconds."]
    assert "| model | bahdanau, 1,234 parameters |" in lines
    assert "| examples | 2,000 train, 2 valid |" in lines
    assert "| updates | 40 of 40 |" in lines
    assert "| seconds | 75 |" in lines
    assert "| kept | step 20, the best by loss |" in lines
    assert "| seed | 7 |" in lines
    assert r"| test | exact match | 0.5 | nrefs:1\|case:mixed |" in lines
    assert "| valid | loss | 1.2500 | nats |" in lines
    run = Run(tmp_path / "tiny")
    for step in (20, 30, 40, 45):
        (run.folder / f"checkpoints/{step:08d}").mkdir(parents=True)
    averaged = ("train.average=3", "train.checkpoint_every=10")
    assert "| kept | the mean of the last 3 checkpoints |" in page(run, outcome(), *averaged)
    more = "| kept | the mean of the last 4 checkpoints (5 were asked for) |"
    assert more in page(run, outcome(), "train.average=5", "train.checkpoint_every=10")


def test_a_later_part_and_one_that_only_measures_say_so(tmp_path: Path) -> None:
    lines = page(Run(tmp_path), outcome(RIGHT, begun=30))
    assert lines[2] == "finished after step 40, 75 seconds since step 30."
    assert "| seconds | 75 since step 30 |" in lines
    lines = page(Run(tmp_path), outcome(RIGHT, begun=40))
    assert lines[2] == "finished already, after step 40; measured again."
    assert not any("seconds" in line for line in lines)


def test_the_command_to_go_on_goes_on(tmp_path: Path) -> None:
    """Of a run with a name of its own, in a folder whose name has a space."""
    folder = tmp_path / "all runs" / "mine"
    first = train(folder, "train.steps=2", "train.valid_every=2")
    report(Run(folder), recipe("train.steps=2", "train.valid_every=2"), first)
    (line,) = [line for line in (folder / "report.md").read_text().splitlines() if line.startswith("| to go on")]
    _, _, file, runs, parent, *overrides = shlex.split(line.split("`")[1])
    assert (runs, parent, overrides) == ("--runs", str(folder.parent), ["run=mine", "train.steps=4"])
    loaded = load(file, overrides).recipe
    assert (loaded.run, loaded.train.steps) == ("mine", 4)
    Run(folder).agree(loaded)


@pytest.mark.parametrize(("reason", "said"), [("interrupted", "interrupted"), ("patience", "out of patience")])
def test_a_run_that_ended_otherwise(reason: str, said: str, tmp_path: Path) -> None:
    run = Run(tmp_path / "tiny")
    lines = page(run, outcome(RIGHT, reason=reason, seconds=1.2))
    assert lines[2] == f"{said} after step 40, 1 second."
    commands = [line for line in lines if line.startswith("| to go on")]
    wanted = shlex.join(["regard", "train", str(run.folder / "recipe.yaml"), "--runs", str(tmp_path)])
    assert commands == ([f"| to go on | `{wanted}` |"] if reason == "interrupted" else [])


def test_the_summary_draws_and_says_what_would_have_been_right(tmp_path: Path) -> None:
    lines = screen(Run(tmp_path), outcome(RIGHT, WRONG))
    assert lines[0].strip() == "tiny: finished after step 40, 75 seconds"
    begin = lines.index("  1 2")
    assert lines[begin : begin + 4] == ["  1 2", "1 █", "2   █", "  1 2  →  1 2"]
    assert lines[begin + 4 : begin + 6] == ["  a|b <unk>", "c  →  *d*  (reference: $e$ / f)"]
    either = Prediction("read", "R EH D", -0.1, (), (), (), reference="R IY D / R EH D")
    assert "  read  →  R EH D" in screen(Run(tmp_path), outcome(either))


def test_the_summary_puts_tags_under_words_and_right_ones_below(tmp_path: Path) -> None:
    tags = Prediction(
        "a dog eats", "DT VB VB", -0.1, ("a", "dog", "eats"), ("DT", "VB", "VB"), (), reference="DT NN VB"
    )
    labels = "evaluate={metrics: [accuracy]}"
    data = "data={format: columns, train: tags.txt, valid: tags.txt}"
    model = "model={kind: transducer}"
    lines = screen(Run(tmp_path), outcome(tags), "task=tag", data, model, labels, "decode={}", task=Tagging({}))
    begin = lines.index("a  dog  eats")
    assert lines[begin : begin + 3] == ["a  dog  eats", "DT VB   VB", "   (NN)"]
    assert "→" not in "".join(lines)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Axes]:
    """The panels of every picture that is saved."""
    panels: list[Axes] = []
    save = Figure.savefig

    def keep(figure: Figure, *given: object, **settings: object) -> None:
        panels.extend(figure.axes)
        save(figure, *given, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", keep)
    return panels


def logged(folder: Path, *, validations: int = 2, rows: int = 1) -> Run:
    run = Run(folder)
    for step in range(1, rows + 1):
        run.metrics.add(step, "train", loss=1.0 / step, rate=0.1)
    for step in range(1, validations + 1):
        run.metrics.add(20 * step, "valid", loss=2.0 / step, cer=0.5, exact_match=0.5)
    return run


def test_curves_begin_with_what_decides_and_mark_the_model_that_is_kept(tmp_path: Path, drawn: list[Axes]) -> None:
    assert "![loss and metrics by step](curves.png)" in page(
        logged(tmp_path), outcome(RIGHT), "evaluate.select=exact_match"
    )
    assert [panel.get_title() for panel in drawn] == ["exact match", "loss", "cer"]
    for panel in drawn:
        curves = {str(line.get_label()): line for line in panel.lines}
        assert to_hex(curves["valid"].get_color()) == to_hex("C1")
        assert list(curves["kept"].get_xdata()) == [20, 20]
    single = {str(line.get_label()): line for line in drawn[1].lines}["train"]
    assert (to_hex(single.get_color()), len(single.get_xdata()), single.get_marker()) == (to_hex("C0"), 1, ".")


def test_long_curves_are_lines_and_an_average_is_a_star(tmp_path: Path, drawn: list[Axes]) -> None:
    run = logged(tmp_path, rows=100)
    run.metrics.add(40, "valid_averaged", loss=0.5)
    page(run, outcome(RIGHT), "train.average=3")
    curves = {str(line.get_label()): line for line in drawn[0].lines}
    assert {name: line.get_marker() for name, line in curves.items()} == {
        "train": "None",
        "valid": "o",
        "valid, averaged": "*",
    }


def test_a_run_without_a_validation_has_no_picture(tmp_path: Path) -> None:
    lines = page(logged(tmp_path, validations=0), outcome(reason="interrupted"))
    assert not any("curves.png" in line for line in lines)
    assert not (tmp_path / "curves.png").exists()


def test_a_validation_knows_what_was_right(tmp_path: Path) -> None:
    ended = train(tmp_path, "train.steps=1", "train.valid_every=1")
    assert ended.test is not None
    assert all(one.reference == one.source for one in ended.test.predictions)  # digits to copy
