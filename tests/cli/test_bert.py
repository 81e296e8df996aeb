"""BERT by the commands of its page: pretrained, fine-tuned, asked, measured, drawn, handed over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard.cli import app
from regard.recipes.library import shipped

RUN = CliRunner(env={"COLUMNS": "200", "ACCELERATE_USE_CPU": "true"})
FEW = ["train.steps=4", "train.valid_every=4", "data.valid_size=20", "data.test_size=20"]


def said(*command: str) -> str:
    done = RUN.invoke(app, list(command))
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    said("train", "bert_opinions", *FEW, "data.train_size=500", "--runs", str(folder))
    said("train", "opinions", f"init={folder / 'bert_opinions'}", *FEW, "--runs", str(folder))
    return folder


def test_the_shipped_recipes_for_small_data_go_together(runs: Path) -> None:
    measured = json.loads(said("evaluate", str(runs / "bert_opinions"), "--json"))
    assert measured["signatures"]["perplexity"] == "unit:masked word|context:true"
    assert 1 < measured["perplexity"] < 500
    assert json.loads(said("evaluate", str(runs / "opinions"), "--json"))["accuracy"] > 0
    assert said("predict", str(runs / "opinions"), "the hotel was duma").strip() in ("good", "bad")


def test_masks_are_filled_in(runs: Path) -> None:
    run = str(runs / "bert_opinions")
    answers = said("predict", run, "the <mask> was <mask>", "--n-best", "3").splitlines()
    assert len(answers) == 3
    assert all(len(answer.split("\t")[1].split()) == 4 for answer in answers)
    assert "</s>" in json.loads(said("predict", run, "the <mask>", "--json", "--alignment"))["source_tokens"]
    failed = RUN.invoke(app, ["predict", run, "nothing hidden"])
    assert failed.exit_code == 2
    assert "there is no <mask> in 'nothing hidden'" in failed.output


def test_a_picture_is_drawn(runs: Path, tmp_path: Path) -> None:
    picture = tmp_path / "looks.png"
    said("view", str(runs / "bert_opinions"), "the hotel was <mask>", "--output", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_it_is_handed_over_and_comes_back(runs: Path, tmp_path: Path) -> None:
    said("export", str(runs / "bert_opinions"), str(tmp_path / "folder"))
    assert json.loads((tmp_path / "folder" / "config.json").read_text())["hidden_size"] == 64
    said("import", str(tmp_path / "folder"), str(tmp_path / "again"))
    text = "the <mask> was quite <mask>"
    assert said("predict", str(tmp_path / "again"), text) == said("predict", str(runs / "bert_opinions"), text)
    failed = RUN.invoke(app, ["export", str(runs / "opinions"), str(tmp_path / "other")])
    assert failed.exit_code == 2
    assert "was trained for the task 'classify'" in failed.output


def test_two_texts_have_one_label(tmp_path: Path) -> None:
    rows = ["first\tsecond\tverdict", *["the cat sleeps\tthe cat is awake\tno", "a dog runs\ta dog moves\tyes"] * 6]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "pairs.yaml").write_text(f"""\
run: pairs
task: classify
data: {{format: table, header: true, source: [first, second], target: verdict, root: {tmp_path},
        train: pairs.tsv, valid: pairs.tsv}}
tokenizer: {{kind: words}}
model: {{kind: acceptor, pooling: last,
        encoder: {{kind: bert, dim: 16, num_heads: 2, num_layers: 1, max_length: 20, pooled: true, dropout: 0.0}}}}
train: {{steps: 30, batch: {{sentences: 6}}, optimizer: {{rate: 0.01}}, valid_every: 30}}
""")
    said("train", str(tmp_path / "pairs.yaml"), "--runs", str(tmp_path))
    assert said("predict", str(tmp_path / "pairs"), "the cat sleeps\tthe cat is awake") == "no\n"
    wrong = ["data.source=[first]", "model.encoder={kind: rnn}"]
    for override in wrong:
        failed = RUN.invoke(app, ["train", str(tmp_path / "pairs.yaml"), override, "--runs", str(tmp_path)])
        assert "source has one column, or two for labels by a model that reads two texts" in failed.output


@pytest.mark.parametrize("recipe", ["bert_wikitext2", "bert_sst2"])
def test_recipes_of_real_data_run(recipe: str, tmp_path: Path) -> None:
    labelled = recipe == "bert_sst2"
    line = "1 a gem of a film\n0 dull and far too long\n" if labelled else "a gem of a film , dull and far too long\n"
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(line * 20)
    files = [f"data.{split}={split}.txt" for split in ("train", "valid", "test")]
    small = ["dim=16", "num_heads=2", "num_layers=1", "max_length=34"]
    few = ["train.steps=2", "train.valid_every=2", "tokenizer.size=300", "train.batch.sentences=4"]
    window = [] if labelled else ["train.batch.window=32"]
    overrides = [*files, *few, *window, *(f"model.encoder.{one}" for one in small), f"data.root={tmp_path}"]
    assert recipe in shipped()
    assert "the run is in" in said("train", recipe, *overrides, "--runs", str(tmp_path / "runs"))
