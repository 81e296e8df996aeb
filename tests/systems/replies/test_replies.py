"""Replies from recipe to answer: histories as lists, JSON, lines and mappings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.data.problems import TextError
from tests.cli.command import asked, refused

TURNS = ["i have a red boat .", "nice , a red boat .", "what do i have ?"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replies")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        small = (
            "data.train_size=200",
            "data.valid_size=20",
            "data.test_size=20",
            "data.turns=2",
            "model.hidden_dim=16",
        )
        asked("train", "smalltalk", *small, "train.steps=20", "train.valid_every=20", "train.log_every=10")
    return folder / "runs" / "smalltalk"


def test_every_form_of_a_history_has_the_same_reply(run: Path, tmp_path: Path) -> None:
    model = regard.load(run)
    given = (json.dumps(TURNS), "\n".join(TURNS), {"turns": TURNS}, {"source": " | ".join(TURNS[1:])})
    answers = model.predict(list(given))
    assert {one.source for one in answers} == {"nice , a red boat . | what do i have ?"}
    assert len({one.text for one in answers}) == 1
    assert asked("predict", run, json.dumps(TURNS)) == f"{answers[0].text}\n"
    (tmp_path / "talk.jsonl").write_text(json.dumps({"turns": TURNS}) + "\n")
    said = asked("predict", run, "--file", tmp_path / "talk.jsonl", "--format", "dialogues", "--json")
    assert json.loads(said)["source"] == answers[0].source
    assert model.task.shown_input(answers[0]).count("–") == 2
    for wrong in ({"turns": []}, {"turns": [1]}):
        with pytest.raises(TextError, match="list of texts"):
            model.predict(wrong)
    assert "list of texts" in refused("predict", run, "[1, 2]")


def test_it_is_measured_and_drawn(run: Path, tmp_path: Path) -> None:
    values = json.loads(asked("evaluate", run, "--split", "test", "--json"))
    names = {"loss", "perplexity", "exact_match", "rouge1", "rougeL", "distinct:n=1", "distinct:n=2", "repetition"}
    assert names <= set(values)
    asked("view", run, json.dumps(TURNS), "--output", tmp_path / "view.png")
    assert (tmp_path / "view.png").stat().st_size > 1000


def test_a_reply_does_not_depend_on_its_batch(run: Path) -> None:
    model = regard.load(run)
    alone = model.predict(json.dumps(TURNS))[0]
    beside = model.predict([json.dumps(TURNS), "hello\n" * 2 + "so where was i in the end and when ?"])[0]
    assert (alone.text, alone.score) == (beside.text, pytest.approx(beside.score, abs=1e-4))
