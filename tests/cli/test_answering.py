"""`predict` and `evaluate` with unknown words, with several runs, and held to some outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.predictor import load
from regard.recipes.load import check
from regard.recipes.yaml_document import RecipeDocument
from regard.runs.folder import RunError
from regard.runs.run import Run
from regard.train.screen import Screen
from regard.train.trainer import Trainer
from tests.cli.command import asked, refused
from tests.train.tiny import train

ONCE = ("train.valid_every=100", "train.checkpoint_every=100")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one vocabulary, and one of another."""
    folder = tmp_path_factory.mktemp("runs")
    train(folder / "a", *ONCE, "train.steps=30")
    train(folder / "b", *ONCE, "train.steps=20", "train.seed=1")
    train(folder / "few", *ONCE, "train.steps=20", "tokenizer.size=6", "decode.unknown=copy")  # two digits are known
    return folder


def test_unknown_words_are_copied_in_training_and_everywhere_else(runs: Path) -> None:
    rows = [json.loads(line) for line in (runs / "few/metrics.jsonl").read_text().splitlines()]
    measured = json.loads(asked("evaluate", runs / "few", "--json"))
    assert measured["cer"] == rows[-1]["cer"]
    kept = json.loads(asked("evaluate", runs / "few", "--json", "--decode", "unknown=keep"))
    assert kept["cer"] > measured["cer"]
    assert kept["loss"] == measured["loss"]
    texts = ["one two three", "one"]
    assert "<unk>" in asked("predict", runs / "few", *texts, "--decode", "unknown=keep")
    copied = asked("predict", runs / "few", *texts).splitlines()
    assert not any("<unk>" in line for line in copied)
    assert copied == [one.text for one in load(runs / "few").predict(texts)]


def test_a_dictionary_translates_them(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "words.tsv").write_text("one\tuno\n")
    assert "uno" in asked("predict", runs / "few", "one", "--decode", f"dictionary={tmp_path}/words.tsv")
    (tmp_path / "words.tsv").write_text("one uno\n")
    problem = refused("predict", runs / "few", "one", "--decode", f"dictionary={tmp_path}/words.tsv")
    assert problem.startswith(f"error: {tmp_path}/words.tsv:1: 'one uno' is no entry")


def test_runs_answer_together(runs: Path) -> None:
    alone = [json.loads(asked("evaluate", runs / name, "--json"))["loss"] for name in ("a", "b")]
    both = json.loads(asked("evaluate", runs / "a", "--ensemble", runs / "b", "--json"))["loss"]
    again = json.loads(asked("evaluate", runs / "a", "--ensemble", runs / "a", "--json"))["loss"]
    assert both < sum(alone) / 2  # -log is convex
    assert again == pytest.approx(alone[0], abs=1e-6)
    row = json.loads(asked("predict", runs / "a", "1 2 3", "--ensemble", runs / "b", "--json", "--alignment"))
    [found] = regard.load(runs / "a", runs / "b").predict("1 2 3")
    assert (row["text"], row["score"]) == (found.text, pytest.approx(found.score, abs=1e-6))
    one, other = (load(runs / name).predict("1 2 3")[0].alignment for name in ("a", "b"))
    assert one is not None
    assert other is not None
    assert row["alignment"][0] == pytest.approx(((one[0] + other[0]) / 2).tolist(), abs=1e-5)


def test_three_runs_and_their_name_in_the_table(runs: Path) -> None:
    shown = asked("evaluate", runs / "a", "--ensemble", runs / "b", "--ensemble", runs / "a", "--split", "valid")
    assert "/b + " in " ".join(shown.split())  # a long title is broken into lines


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_runs_that_cannot_are_one_sentence(command: str, runs: Path, tmp_path: Path) -> None:
    question = ["1"] if command == "predict" else []
    problem = refused(command, runs / "a", *question, "--ensemble", runs / "few")
    assert problem.startswith(f"error: {runs}/few and {runs}/a have different vocabularies of 'source'")
    (tmp_path / "recipe.yaml").write_text("task: tag\n")
    problem = refused(command, runs / "a", *question, "--ensemble", tmp_path)
    assert problem == f"error: {tmp_path} was trained for the task 'tag'; the task of this recipe is 'translate'\n"
    with pytest.raises(RunError, match="different vocabularies of 'source'"):
        load(runs / "a", runs / "b", runs / "few")


def test_language_models_that_begin_texts_differently_are_refused(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("it was the lark\n" * 40)
    text = (
        f"task: language_model\ndata: {{format: text, train: {tmp_path}/book.txt, split: {{by: order, valid: 0.1}}}}\n"
        "tokenizer: {kind: words}\nmodel: {kind: language_model, embedding_dim: 4, hidden_dim: 4}\n"
        "train: {steps: 1, batch: {sentences: 2}}\ndecode: {strategy: greedy, max_length: 3}\n"
    )
    for name, batch in (("alone", "{sentences: 2}"), ("stream", "{sentences: 2, window: 4}")):
        found = check(RecipeDocument.parse(text, "book.yaml").overridden([f"train.batch={batch}"])).recipe
        Trainer(found, Run(tmp_path / name), screen=Screen(quiet=True)).fit()
    assert asked("predict", tmp_path / "stream", "it was", "--ensemble", tmp_path / "stream").startswith("it was")
    alone = json.loads(asked("evaluate", tmp_path / "stream", "--split", "valid", "--json"))
    arguments = ("evaluate", tmp_path / "stream", "--ensemble", tmp_path / "stream", "--split", "valid", "--json")
    assert json.loads(asked(*arguments))["loss"] == pytest.approx(alone["loss"], abs=1e-6)
    problem = refused("predict", tmp_path / "stream", "it was", "--ensemble", tmp_path / "alone")
    assert problem.startswith(
        f"error: {tmp_path}/alone and {tmp_path}/stream begin texts differently (train.batch.window"
    )
    problem = refused("predict", tmp_path / "stream", "it", "--only", tmp_path / "book.txt")
    assert problem.startswith("error: only holds answers to a set of translations")


@pytest.mark.parametrize("search", [(), ("strategy=beam",), ("strategy=sample", "top_k=2"), ("max_length=1",)])
def test_answers_are_among_those_allowed(search: tuple[str, ...], runs: Path, tmp_path: Path) -> None:
    texts = ["1 2 3", "1 2 3 4 5 6 7 8 9", "9", "0 0 0 0 0 0 0 0"]
    (tmp_path / "only").write_text("\n".join(texts) + "\n")
    options = [part for one in search for part in ("--decode", one)]
    found = asked("predict", runs / "a", "5 5 5", *texts, "--only", tmp_path / "only", *options).splitlines()
    assert len(found) == 5
    assert set(found) <= set(texts)


def test_the_n_best_of_those_allowed(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "only").write_text("1 2 3\n4\n5 6\n")
    arguments = (
        "predict",
        runs / "a",
        "1 2 3",
        "--only",
        tmp_path / "only",
        "--n-best",
        "5",
        "--decode",
        "strategy=beam",
    )
    row = json.loads(asked(*arguments, "--json"))
    assert sorted(one["text"] for one in row["n_best"]) == ["1 2 3", "4", "5 6"]
    assert [line.split("\t")[1] for line in asked(*arguments).splitlines()] == [one["text"] for one in row["n_best"]]
    [listed] = load(runs / "a").predict("1 2 3", only=["1 2 3", "4", "5 6"], strategy="beam")
    assert listed.text == row["text"]
    together = asked(*arguments, "--ensemble", runs / "b").splitlines()
    assert sorted(line.split("\t")[1] for line in together) == ["1 2 3", "4", "5 6"]


def test_a_file_that_allows_nothing_is_one_sentence(runs: Path, tmp_path: Path) -> None:
    only = tmp_path / "only"
    only.write_text("1 2\neleven\n")
    problem = refused("predict", runs / "a", "1", "--only", only)
    assert problem == f"error: {only}:2: 'eleven' has words that the model does not know; leave it out\n"
    assert refused("predict", runs / "a", "1", "--only", tmp_path / "onyl").startswith(
        f"error: {tmp_path}/onyl: there is no"
    )
