"""Several labels per text, and numbers, by the commands: trained, asked, measured; and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.cli import app
from regard.systems.classification.reviews import Reviews
from tests.cli.command import RUN, asked, refused

RECIPE = """\
run: {name}
task: classify
data: {{format: jsonl, train: train.jsonl, valid: valid.jsonl, test: test.jsonl, source: text, target: label,
  target_kind: {name}}}
tokenizer: {{kind: words}}
model: {{kind: acceptor, pooling: {pooling}, encoder: {{embedding_dim: 16, hidden_dim: 16}}}}
train: {{steps: 60, batch: {{sentences: 32}}, optimizer: {{rate: 0.03}}, valid_every: 30}}
{more}
"""


def written(folder: Path, target: str) -> None:
    for split, size in (("train", 400), ("valid", 60), ("test", 60)):
        rows = [example.fields for example in Reviews(split, size=size, target=target, words=3)]  # type: ignore[arg-type]
        (folder / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def trained(folder: Path, target: str, pooling: str, more: str = "") -> str:
    written(folder, target)
    (folder / "mine.yaml").write_text(RECIPE.format(name=target, pooling=pooling, more=more))
    done = RUN.invoke(app, ["train", str(folder / "mine.yaml"), "--runs", str(folder), f"data.root={folder}"])
    assert done.exit_code == 0, done.output
    return str(folder / target)


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(tmp_path_factory.mktemp("a"), "labels", "attention", "decode: {threshold: tuned}")


@pytest.fixture(scope="module")
def number(tmp_path_factory: pytest.TempPathFactory) -> str:
    return trained(tmp_path_factory.mktemp("b"), "number", "mean")


def test_several_labels(labels: str) -> None:
    measured = json.loads(asked("evaluate", labels, "--json"))
    assert measured["micro_f1"] > 0.6  # no label at all has 0, all labels 0.55
    assert set(measured["classes"]) == {"food", "noise", "price", "room", "staff"}
    assert measured["averages"]["micro"]["f1"] == pytest.approx(measured["micro_f1"])
    last = json.loads((Path(labels) / "metrics.jsonl").read_text().splitlines()[-1])
    assert {name: last[name] for name in ("loss", "micro_f1", "macro_f1")} == {
        name: measured[name] for name in ("loss", "micro_f1", "macro_f1")
    }
    assert "| staff |" in (Path(labels) / "report.md").read_text()
    shown = asked("evaluate", labels)
    for part in ("nats a text", "micro F1", "macro F1", "exact match", "staff", "weighted"):
        assert part in shown


def test_the_threshold_is_kept_and_can_be_another(labels: str) -> None:
    kept = json.loads((Path(labels) / "label_sets.label.json").read_text())
    assert 0 < kept["threshold"] < 1
    text = next(iter(Reviews("test", words=3))).fields["text"]
    assert isinstance(text, str)
    row = json.loads(asked("predict", labels, text, "--json"))
    assert row["labels"] == [name for name in kept["labels"] if row["scores"][name] >= kept["threshold"]]
    assert row["text"] == ",".join(row["labels"])
    every = json.loads(asked("predict", labels, text, "--json", "--decode", "threshold=1e-9"))
    assert every["labels"] == kept["labels"]
    assert every["scores"] == row["scores"]
    none = json.loads(asked("predict", labels, text, "--json", "--decode", "threshold=0.999999"))
    assert (none["labels"], none["text"]) == ([], "")
    at_half = json.loads(asked("evaluate", labels, "--json", "--split", "valid", "--decode", "threshold=0.5"))
    assert json.loads(asked("evaluate", labels, "--json", "--split", "valid"))["micro_f1"] >= at_half["micro_f1"]


def test_a_number(number: str) -> None:
    measured = json.loads(asked("evaluate", number, "--json"))
    assert measured["pearson"] > 0.7
    assert measured["rmse"] < measured["rmse_of_mean"]
    kept = json.loads((Path(number) / "numbers.label.json").read_text())
    truths = [float(str(one.fields["label"])) for one in Reviews("test", size=60, target="number", words=3)]
    assert measured["mae_of_mean"] == pytest.approx(sum(abs(one - kept["mean"]) for one in truths) / 60, abs=1e-4)
    text = "the bed was noro"
    answer = regard.load(number).predict(text)[0]
    assert float(answer.text) == answer.score
    assert asked("predict", number, text) == f"{answer.text}\n"
    shown = asked("evaluate", number)
    for part in ("Pearson", "Spearman", "RMSE of the mean", "squared deviations"):
        assert part in shown
    assert "nats" not in (Path(number) / "report.md").read_text()


def test_ensembles_and_comparisons(labels: str, number: str) -> None:
    for run, metric in ((labels, "micro_f1"), (number, "spearman")):
        alone = json.loads(asked("evaluate", run, "--json"))
        both = json.loads(asked("evaluate", run, "--json", "--ensemble", run, "--against", run))
        assert both[metric] == pytest.approx(alone[metric], abs=1e-4)
        assert both["loss"] == pytest.approx(alone["loss"], rel=1e-4)
        assert both["against"][metric]["difference"] == pytest.approx(0, abs=1e-4)
        drawn = RUN.invoke(app, ["view", run, "the bed was noro", "--output", str(Path(run) / "a.html")])
        assert (drawn.exit_code == 0) == (run == labels), drawn.output  # the other does not attend


def test_a_run_begins_with_one_of_its_kind(labels: str, number: str, tmp_path: Path) -> None:
    folder = Path(labels).parent
    arguments = [f"data.root={folder}", "--runs", str(tmp_path), "run=second", "train.steps=1", "train.valid_every=1"]
    done = RUN.invoke(app, ["train", str(folder / "mine.yaml"), *arguments, f"init={labels}"])
    assert done.exit_code == 0, done.output
    other = refused("train", str(folder / "mine.yaml"), *arguments, "run=third", f"init={number}")
    assert "data.target_kind is 'labels'" in other
    assert "data.target_kind is 'labels'" in refused("evaluate", number, "--data", "target_kind=labels")


@pytest.mark.parametrize(
    ("target", "override", "said"),
    [
        ("labels", "evaluate.metrics=[f1]", "'f1'"),
        ("labels", "evaluate.metrics=[pearson]", "'pearson'"),
        ("number", "evaluate.metrics=[accuracy]", "'accuracy'"),
        ("number", "evaluate.metrics=[bleu]", "'bleu'"),
        ("number", "train.label_smoothing=0.1", "label_smoothing"),
        ("number", "train.class_weights=balanced", "class_weights"),
        ("number", "decode.threshold=0.3", "threshold"),
        ("labels", "decode.threshold=1.5", "decode.threshold"),
        ("labels", "decode.threshold=best", "decode.threshold"),
        ("number", "data.label_separator=;", "label_separator"),
        ("labels", "data.target_kind=sets", "data.target_kind"),
        ("labels", "evaluate.select=accuracy", "accuracy"),
    ],
)  # fmt: skip
def test_recipes_that_do_not_fit_are_one_sentence(target: str, override: str, said: str, tmp_path: Path) -> None:
    written(tmp_path, target)
    (tmp_path / "mine.yaml").write_text(RECIPE.format(name=target, pooling="mean", more=""))
    sentence = refused(
        "train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path / "runs"), f"data.root={tmp_path}", override
    )
    assert said in sentence
    assert not (tmp_path / "runs").exists()


def test_a_line_that_is_no_number_is_named(tmp_path: Path) -> None:
    written(tmp_path, "number")
    with (tmp_path / "valid.jsonl").open("a") as file:
        file.write('\n{"text": "the bed was noro", "label": "four"}')
    (tmp_path / "mine.yaml").write_text(RECIPE.format(name="number", pooling="mean", more=""))
    said = refused("train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path), f"data.root={tmp_path}")
    assert "valid.jsonl:61: 'four'" in said


def test_lists_ask_for_their_kind(tmp_path: Path) -> None:
    written(tmp_path, "labels")
    (tmp_path / "mine.yaml").write_text(RECIPE.format(name="label", pooling="mean", more=""))
    said = refused("train", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path), f"data.root={tmp_path}")
    assert "train.jsonl:1:" in said
    assert "data.target_kind" in said
