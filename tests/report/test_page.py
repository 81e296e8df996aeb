"""The page of a run: what it says, and that it always comes."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from rich.text import Text

from regard.data import Tokenizer
from regard.report.answers import Answers
from regard.report.material import ReportData, material, trained_material
from regard.report.record import TrainingRecord
from regard.report.run_page import run_page, write_page
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.cli.command import asked, refused
from tests.report.pages import Page
from tests.train.tiny import TEXT, recipe, train


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("report") / "tiny"
    train(found, "train.steps=40")
    TrainingRecord(command="regard train 'a b'", ended="finished after step 40", warnings=["<i>odd</i> text"]).save(
        found
    )
    return found


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The same run, to be damaged."""
    return Path(shutil.copytree(folder, tmp_path / "tiny"))


def page_of(folder: Path) -> Page:
    page = Page(run_page(material(folder)))
    assert page.problems == []
    return page


def test_it_has_results_curves_attention_examples_data_warnings_and_the_recipe(folder: Path) -> None:
    found = material(folder)
    page = page_of(folder)
    assert found.missing == ()
    assert found.measured is not None
    assert page.ids[:1] == ["results"]
    assert f"exact match {found.measured.scores['exact_match'].value:.5g}" in page.text
    interval = found.intervals["exact_match"]
    assert interval.low <= found.measured.scores["exact_match"].value <= interval.high
    assert "nrefs:1|case:mixed|space:collapsed|bs:1000|level:0.95|seed:0" in page.text
    assert "<i>odd</i> text" in page.text
    assert "regard train 'a b'" in page.text
    assert "train_size: 200" in page.text
    assert "16 examples of the split test" in page.text


def test_losses_of_examples_add_up_to_that_of_the_split(folder: Path) -> None:
    found = material(folder)
    assert found.predictor is not None
    assert found.measured is not None
    target = found.predictor.task.encoders["target"]
    assert isinstance(target, Tokenizer)
    tokens = [len(target.encode(row.references[0])) + 1 for row in found.examples]
    total = sum((row.loss or 0.0) * count for row, count in zip(found.examples, tokens, strict=True))
    assert total / sum(tokens) == pytest.approx(found.measured.loss, rel=1e-5)
    losses = [row.loss for row in found.examples if row.loss is not None]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 16


def test_the_same_run_gives_the_same_bytes(folder: Path) -> None:
    assert run_page(material(folder)) == run_page(material(folder))


def test_training_and_the_command_make_the_same_page(tmp_path: Path) -> None:
    run = Run(tmp_path / "tiny")
    trainer = Trainer(recipe("train.steps=10"), run, screen=Screen(quiet=True))
    outcome = trainer.fit()
    made = run_page(trained_material(run.folder, trainer.splits, {"valid": outcome.valid, "test": outcome.test}))
    assert made == run_page(material(run.folder))


def test_a_run_that_was_stopped_has_a_page(copy: Path) -> None:
    for name in ("model.safetensors", "report.json"):
        (copy / name).unlink()
    shutil.rmtree(copy / "checkpoints")
    page = page_of(copy)
    assert "model.safetensors" in page.text
    assert "no record of warnings" in page.text
    assert "The log ends after step 40 of 40." in page.text


def test_a_run_without_any_row_has_a_page(copy: Path) -> None:
    (copy / "metrics.jsonl").unlink()
    (copy / "model.safetensors").unlink()
    assert "The log of the run has no rows yet." in page_of(copy).text


def test_values_that_are_not_finite_are_left_out_of_curves(copy: Path) -> None:
    rows = [json.loads(line) for line in (copy / "metrics.jsonl").read_text().splitlines()]
    rows[0]["loss"] = None
    (copy / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "1 values that are not finite are left out." in page_of(copy).text


def test_a_run_without_a_test_split_is_measured_on_the_other(tmp_path: Path) -> None:
    pairs = "".join(f"{number}\t{number}\n" for number in range(40))
    (tmp_path / "pairs.tsv").write_text(pairs)
    path = tmp_path / "pairs.tsv"
    data = f"data={{format: table, train: {path}, valid: {path}}}"
    train(tmp_path / "tiny", "train.steps=4", data)
    found = material(tmp_path / "tiny")
    assert found.split == "valid"
    assert "examples of the split valid" in page_of(tmp_path / "tiny").text
    path.unlink()
    assert str(path) in page_of(tmp_path / "tiny").text


def test_texts_of_users_are_texts(folder: Path) -> None:
    found = material(folder)
    assert found.measured is not None
    evil = "<script>alert(1)</script>\x1b[31m \u05d0\u05d1 </style>"
    predictions = tuple(replace(one, text=evil) for one in found.measured.predictions)
    html = run_page(replace(found, measured=replace(found.measured, predictions=predictions)))
    assert Page(html).problems == []
    assert "<script>alert" not in html
    assert "\x1b" not in html
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;␛[31m אב &lt;/style&gt;</bdi>" in html


def test_nothing_may_be_loaded_and_one_script_may_run(folder: Path) -> None:
    html = run_page(material(folder))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert policy.startswith("default-src &#x27;none&#x27;")
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]


def test_the_command_writes_where_it_is_told(folder: Path, tmp_path: Path) -> None:
    assert asked("report", folder) == f"{folder / 'report.html'}\n"
    assert asked("report", folder, "--output", tmp_path / "a.html") == f"{tmp_path / 'a.html'}\n"
    assert (tmp_path / "a.html").read_bytes() == (folder / "report.html").read_bytes()
    assert "a.pdf" in refused("report", folder, "--output", tmp_path / "a.pdf")
    assert "no/where" in refused("report", "no/where")


def test_a_training_leaves_page_record_and_answers(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(TEXT)
    asked("train", tmp_path / "mine.yaml", "--runs", tmp_path, "train.steps=10", "run=a")
    record, answers = TrainingRecord.of(tmp_path / "a"), Answers.of(tmp_path / "a")
    assert record is not None
    assert record.command == f"regard train {tmp_path / 'mine.yaml'} train.steps=10 run=a --runs {tmp_path}"
    assert record.counts["updates"] == 10
    assert {"torch", "python", "regard"} <= set(record.versions)
    assert Page((tmp_path / "a/report.html").read_text()).problems == []
    assert answers is not None
    assert (answers.split, len(answers.answers)) == ("test", 16)


def test_a_page_that_fails_does_not_end_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: ReportData) -> Path:
        raise RuntimeError("no ink")

    monkeypatch.setattr("regard.train.report.write_page", broken)
    (tmp_path / "mine.yaml").write_text(TEXT)
    printed = asked(
        "train", tmp_path / "mine.yaml", "--runs", tmp_path, "train.steps=4", "train.valid_every=4", "run=a"
    )
    assert "no ink" in printed
    assert (tmp_path / "a/report.md").exists()


def test_a_damaged_record_counts_as_none(copy: Path) -> None:
    (copy / "report.json").write_text('{"seconds": "many"}')
    assert TrainingRecord.of(copy) is None
    (copy / "answers.json").write_text("[")
    assert Answers.of(copy) is None


def test_a_page_is_written_whole_or_not_at_all(folder: Path, tmp_path: Path) -> None:
    place = write_page(material(folder), tmp_path / "new" / "page.html")
    assert place.read_text().endswith("</html>\n")
    assert [one.name for one in place.parent.iterdir()] == ["page.html"]


def test_a_model_without_attention_gets_a_sentence_and_drawings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = material(folder)
    assert found.predictor is not None

    def nothing(*_: object, **__: object) -> None:
        raise ValueError("the model attends to nothing that could be drawn")

    monkeypatch.setattr(type(found.predictor.task), "panels", nothing)
    monkeypatch.setattr(type(found.predictor.task), "drawing", lambda self, prediction: Text("DT <NN>"))
    html = run_page(found)
    assert html.count("The model attends to nothing") == 1
    assert html.count('<pre class="drawn">DT &lt;NN&gt;</pre>') == 5
    assert Page(html).problems == []
