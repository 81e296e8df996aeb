"""`predict --file` and `evaluate` with files in the formats of training."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from regard.cli import app
from tests.cli.command import RUN, asked, refused
from tests.cli.test_labels import REVIEWS

RECIPE = """\
run: reviews
task: classify
data: {format: table, header: true, train: reviews.csv, source: text, target: label, split: {valid: 0.2, test: 0.2}}
tokenizer: {kind: words}
model: {kind: acceptor, encoder: {embedding_dim: 16, hidden_dim: 16}}
train: {steps: 60, batch: {sentences: 16}, optimizer: {rate: 0.02}, valid_every: 30}
evaluate: {metrics: [accuracy, f1]}
"""


def table(path: Path, *rows: tuple[str, ...]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reviews")
    rows = [tuple(line.split(" ", 1)) for line in REVIEWS]
    table(folder / "reviews.csv", ("label", "text"), *rows)
    (folder / "reviews.yaml").write_text(RECIPE)
    asked("train", folder / "reviews.yaml", "--runs", folder, f"data.root={folder}")
    return folder / "reviews"


@pytest.fixture
def new(tmp_path: Path) -> Path:
    """A file of another order of columns, with a blank text and a text of two lines."""
    rows = (("1", "the plot is lovely and clever"), ("2", ""), ("3", "the music is awful\nand dull"))
    return table(tmp_path / "new.csv", ("id", "text"), *rows)


def test_answers_are_as_many_as_rows_and_in_their_order(reviews: Path, new: Path) -> None:
    assert asked("predict", reviews, "--file", new) == "good\n\nbad\n"
    rows = [json.loads(line) for line in asked("predict", reviews, "--file", new, "--json").splitlines()]
    assert [(row["line"], row["text"]) for row in rows] == [(2, "good"), (3, ""), (4, "bad")]
    packed = new.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(new.read_bytes()))
    assert asked("predict", reviews, "--file", packed, "--source", "1") == "good\n\nbad\n"
    lines = new.with_name("new.txt")
    lines.write_text("the plot is lovely and clever\n\nthe music is awful\n")
    assert asked("predict", reviews, "--file", lines) == "good\n\nbad\n"
    plain = asked("predict", reviews, "--file", new, "--format", "lines").splitlines()
    assert len([line for line in plain if not line.startswith("note: ")]) == 5


def test_a_bad_line_costs_no_other_answer(reviews: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "new.jsonl", tmp_path / "answers.txt"
    path.write_text('{"text": "the plot is lovely and clever"}\nnot\n{"text": "the music is awful and dull"}\n')
    done = RUN.invoke(app, ["predict", str(reviews), "--file", str(path), "--format", "jsonl", "--output", str(out)])
    assert done.exit_code
    assert done.output.count("\n") == 1
    assert f"error: {path}:2: this is not JSON" in done.output
    assert "--bad-lines skip" in done.output
    assert out.read_text() == "good\n"  # the good ones before it
    skipping = ("predict", reviews, "--file", path, "--format", "jsonl", "--bad-lines", "skip", "--output", out)
    said = asked(*skipping)
    assert "1 line skipped" in said
    assert f"{path}:2: this is not JSON" in said
    assert out.read_text() == "good\n\nbad\n"
    asked(*skipping, "--json")
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 3]
    assert rows[1]["text"] is None
    assert "not JSON" in rows[1]["problem"]


def test_lines_of_standard_input_have_numbers(reviews: Path) -> None:
    done = RUN.invoke(app, ["predict", str(reviews), "--json"], input=b"the plot is lovely\n\xff\n")
    assert json.loads(done.output.splitlines()[0])["line"] == 1
    assert "error: standard input:2: the line is not UTF-8" in done.output
    done = RUN.invoke(app, ["predict", str(reviews), "--bad-lines", "skip"], input=b"the plot is lovely\n\xff\n")
    assert done.exit_code == 0
    assert done.output.startswith("good\n\n")


def test_lines_of_a_file_with_columns_are_noted(reviews: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text('{"text": "the plot is lovely"}\n')
    assert "note: each line of" in asked("predict", reviews, "--file", path)
    assert "note: each line" not in asked("predict", reviews, "--file", path, "--format", "lines")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ("--source", "txt"),
            "there is no column 'txt'; its header has id, text; name columns that are there with --source",
        ),
        (("--format", "cvs"), "--format is 'cvs'; it can be lines, table, jsonl, labelled"),
        (("--source", "id", "--source", "text"), "--source names 2; the model reads 1 column, text"),
    ],
)
def test_wrong_options_are_one_sentence(options: tuple[str, ...], sentence: str, reviews: Path, new: Path) -> None:
    assert sentence in refused("predict", reviews, "--file", new, *options)


def test_options_of_a_file_need_one(reviews: Path) -> None:
    assert "give it with --file FILE" in refused("predict", reviews, "a text", "--format", "table")


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """A file with other names of columns, a label that is wrong, and a bad line."""
    rows = (
        ("the plot is lovely and clever", "good"),
        ("the music is awful", "good"),
        ("", "bad"),
        ("it is dull", "bad"),
    )
    return table(tmp_path / "held.csv", ("body", "kind"), *rows)


def test_a_file_is_measured_on(reviews: Path, held: Path, tmp_path: Path) -> None:
    columns = ("--source", "body", "--target", "kind", "--bad-lines", "skip")
    row = json.loads(asked("evaluate", reviews, held, *columns, "--json").splitlines()[-1])
    assert (row["file"], row["accuracy"]) == (str(held), pytest.approx(2 / 3))
    assert row["confusion"] == {"labels": ["bad", "good"], "counts": [[1, 0], [1, 1]]}
    shown = asked("evaluate", reviews, held, *columns)
    assert "note: 1 line skipped" in shown
    assert f"{held}:4: the column of text is blank" in shown
    assert "3 examples" in shown
    problem = refused("evaluate", reviews, held, "--source", "body", "--target", "kind")
    assert f"{held}:4: the column of text is blank; mend the line or leave it out with --bad-lines skip" in problem
    objects = tmp_path / "held.jsonl"
    objects.write_text('{"text": "the plot is lovely and clever", "label": "good"}\n')
    assert json.loads(asked("evaluate", reviews, objects, "--json"))["accuracy"] == 1.0
    lines = tmp_path / "held.txt"
    lines.write_text("good the plot is lovely and clever\n")
    assert json.loads(asked("evaluate", reviews, lines, "--format", "labelled", "--json"))["accuracy"] == 1.0


def test_predictions_are_kept_line_by_line(reviews: Path, held: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.jsonl"
    asked("evaluate", reviews, held, "--source", "0", "--target", "1", "--bad-lines", "skip", "--predictions", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["line"], row["prediction"], row["target"], row["correct"]) for row in rows] == [
        (0, 2, "good", "good", True),
        (1, 3, "bad", "good", False),
        (2, 5, "bad", "bad", True),
    ]
    assert rows[0]["source"] == "the plot is lovely and clever"
    assert rows[0]["where"] == f"{held}:2"
    assert rows[0]["score"] < 0
    assert asked("evaluate", reviews, "--predictions", out)  # of the recipe's own split
    own = [json.loads(line) for line in out.read_text().splitlines()]
    accuracy = json.loads(asked("evaluate", reviews, "--json"))["accuracy"]
    assert sum(row["correct"] for row in own) / len(own) == accuracy


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("FILE", "--target", "spam"), "there is no column 'text'; its header has body, kind"),
        (("FILE", "--format", "columns"), "--format is 'columns'; it can be labelled, table, jsonl"),
        (("FILE", "FILE"), "2 files are the source and the target of data in pairs"),
        (("FOLDER/nothing.csv",), "nothing.csv: there is no such file"),
        (("FOLDER/hled.csv",), "did you mean held.csv?"),
        (("FOLDER",), "FOLDER is a folder"),
        (("--source", "body"), "give the file after the run"),
        (("FILE", "--source", "body", "--target", "kind", "--predictions", "FOLDER"), "FOLDER"),
    ],
)
def test_what_cannot_be_measured_on_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, reviews: Path, held: Path
) -> None:
    folder = str(held.parent)
    given = [one.replace("FILE", str(held)).replace("FOLDER", folder) for one in arguments]
    assert sentence.replace("FOLDER", folder) in refused("evaluate", reviews, *given)
