"""Neural Turing Machines from the command line: train, predict, evaluate, view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.recipes.library import shipped
from tests.cli.command import asked, refused

SHORT = ("train.steps=4", "train.valid_every=2", "data.valid_size=20", "data.test_size=20", "evaluate.examples=1")
SMALL = "model={kind: ntm, hidden_dim: 9, rows: 24, row_dim: 3}"
RECIPES = sorted(name for name in shipped() if name.startswith("ntm_"))
SIZES = {
    "ntm_copy_long": ("data.longest=3",),
    "ntm_repeat_copy": ("data.longest=3", "data.most=2"),
    "ntm_recall": ("data.most=3",),
    "ntm_ngrams": ("data.length=20",),
    "ntm_sort": ("data.vectors=5", "data.highest=3"),
}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The small recipe on smaller vectors, trained long enough to copy them."""
    folder = tmp_path_factory.mktemp("runs")
    steps = ("train.steps=220", "train.valid_every=220", "train.optimizer.rate=2.0e-2", "train.schedule.name=constant")
    sizes = ("data.bits=3", "data.shortest=3", "data.longest=5", "data.valid_size=32", "data.test_size=64")
    model = "model={kind: ntm, hidden_dim: 64, rows: 16, row_dim: 10}"
    said = asked("train", "ntm_copy", *steps, *sizes, model, "run=copy", "--runs", str(folder))
    assert "copy: finished" in said
    assert "bits per sequence" in said
    return str(folder / "copy")


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_for_a_few_updates(name: str, tmp_path: Path) -> None:
    said = asked("train", name, *SHORT, SMALL, *SIZES.get(name, ()), "run=short", "--runs", str(tmp_path))
    assert "short: finished after step 4" in said
    rows = [json.loads(line) for line in (tmp_path / "short" / "metrics.jsonl").read_text().splitlines()]
    assert [row["split"] for row in rows if row["split"] != "train"] == ["valid", "valid", "test"]
    assert all(0 < row["bits_per_sequence"] < 1000 for row in rows if row["split"] != "train")
    assert ("optimum" in rows[-1]) == (name == "ntm_ngrams")


@pytest.mark.parametrize(
    "model", ["{kind: rnn, hidden_dim: 9}", "{kind: ntm, controller: lstm, rows: 24, hidden_dim: 9, row_dim: 3}"]
)
def test_other_models_learn_the_same_task(model: str, tmp_path: Path) -> None:
    rmsprop = "train.optimizer={name: rmsprop, rate: 1.0e-4, momentum: 0.9}"
    asked("train", "ntm_copy", *SHORT, f"model={model}", rmsprop, "run=other", "--runs", str(tmp_path))
    assert len(regard.load(tmp_path / "other").predict("0110 1001")[0].text.split()) == 2


def test_machines_of_other_tasks_do_not_answer_together(machine: str, tmp_path: Path) -> None:
    asked("train", "ntm_recall", *SHORT, SMALL, "data.most=3", "run=recall", "--runs", str(tmp_path))
    said = refused("predict", machine, "011 100", "--ensemble", str(tmp_path / "recall"))
    assert "learned different tasks (AssociativeRecall and Copy, vectors of 6 and 3 bits)" in said


def test_a_machine_that_was_trained_copies(machine: str) -> None:
    longer = "110 000 101 111 001"
    assert asked("predict", machine, "011 100 010 110", "", longer) == f"011 100 010 110\n\n{longer}\n"
    row = json.loads(asked("predict", machine, longer, "--json", "--alignment"))
    assert row["tokens"] == longer.split()
    assert row["source_tokens"] == [*longer.split(), "copy"]
    assert len(row["alignment"]) == 5
    assert "█" in asked("predict", machine, longer, "--alignment")


def test_it_is_measured_on_other_lengths(machine: str) -> None:
    same, longer = (
        json.loads(asked("evaluate", machine, "--json", *options))
        for options in ((), ("--data", "shortest=12", "--data", "longest=12", "--data", "test_size=16"))
    )
    assert same["bits_per_sequence"] < 0.5
    assert same["exact_match"] == 1.0
    assert longer["bits_per_sequence"] > same["bits_per_sequence"]
    assert "nats a bit" in asked("evaluate", machine)
    last = json.loads((Path(machine) / "metrics.jsonl").read_text().splitlines()[-1])
    assert (last["split"], last["bits_per_sequence"]) == ("test", same["bits_per_sequence"])


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_it_is_drawn(machine: str, suffix: str, tmp_path: Path) -> None:
    picture = tmp_path / f"tape.{suffix}"
    assert asked("view", machine, "011 100", "--output", str(picture)) == f"{picture}\n"
    assert picture.stat().st_size > 4000


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    settings = ("ntm_copy", *SHORT, SMALL, "train.checkpoint_every=2", "run=one", "--runs")
    asked("train", *settings, str(tmp_path / "whole"))
    asked("train", *settings, str(tmp_path / "parts"), "train.steps=2")
    asked("train", *settings, str(tmp_path / "parts"))
    whole, parts = (
        [
            line
            for line in (tmp_path / name / "one" / "metrics.jsonl").read_text().splitlines()
            if json.loads(line)["step"] > 2
        ]
        for name in ("whole", "parts")
    )
    assert whole == parts


def test_a_dry_run_says_what_would_be_trained() -> None:
    said = asked("train", "ntm_copy", "--dry-run")
    assert "inputs [16, 17, 5]" in said  # the longest: eight vectors, the mark, eight answers
    assert "drawn without end" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("data.longest=40",), "the tape has 32 rows, and 40 things are to be kept"),
        (("data.shortest=9",), "data: 'shortest' is 9 and 'longest' is 8; it must be that 1 <= shortest <= longest"),
        (("data.length=9",), "there is no key 'data.length'"),
        (("data={format: digits}",), "data.format is 'digits': it can be copy"),
        (("model.kind=luong",), "model.kind is 'luong': of the task bits it can be ntm, rnn"),
        (("model.controller=gru",), "model.controller is 'gru': it can be feedforward, lstm"),
        (("train.batch={tokens: 99}",), "batch has no sentences, and the task 'bits' draws so many at a time"),
        (("train.label_smoothing=0.1",), "or 'translate'; the task is 'bits'"),
        (("decode.beam_size=3",), "a search is for the task '"),
        (("evaluate.metrics=[accuracy]",), "metric 'accuracy' compares labels"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    assert sentence in refused("train", "ntm_copy", *arguments, "--runs", str(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()


def test_questions_and_pictures_that_are_none_are_one_sentence(machine: str, tmp_path: Path) -> None:
    assert "'012' in the question '012' is no vector of 3 bits" in refused("predict", machine, "012")
    assert "one answer; got n_best=2" in refused("predict", machine, "011", "--n-best", "2")
    assert "the tape has 16 rows, and 17 things are to be kept" in refused("predict", machine, "011 " * 17)
    assert "a picture's name ends in .png, .svg, .pdf" in refused("view", machine, "011", "--output", "tape.gif")
    nowhere = str(tmp_path / "no" / "tape.png")
    assert "cannot be written: there is no folder" in refused("view", machine, "011", "--output", nowhere)
    assert "is not a run" in refused("view", str(tmp_path), "01")
    assert "drawn without end; measure on valid or test" in refused("evaluate", machine, "--split", "train")
    assert "there is no key 'data.longer'" in refused("evaluate", machine, "--data", "longer=3")
