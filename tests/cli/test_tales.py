"""Tales from the command line: a pointer over words, attention over characters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import asked, refused

SIZES = ("data.train_size=90", "data.valid_size=10", "data.test_size=10", "data.animals=2", "data.deeds=2")
SHORT = (*SIZES, "train.steps=4", "train.valid_every=2", "evaluate.examples=1", "decode.max_length=5")
SMALL = ("model.embedding_dim=8", "model.hidden_dim=8")
TALE = "here is the bear Zodelaba . the bear"


@pytest.fixture(scope="module", params=["tales", "tales_pointer"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Either recipe, smaller, after a few updates."""
    folder = tmp_path_factory.mktemp("runs")
    said = asked("train", request.param, *SHORT, *SMALL, "run=short", "--runs", str(folder))
    assert "short: finished after step 4" in said
    return str(folder / "short")


def test_it_is_asked_and_measured(run: str) -> None:
    assert asked("predict", run, TALE).startswith("here is the bear")
    measured = json.loads(asked("evaluate", run, "--json"))
    last = json.loads((Path(run) / "metrics.jsonl").read_text().splitlines()[-1])
    assert (last["split"], last["loss"]) == ("test", measured["loss"])


def test_it_is_drawn(run: str, tmp_path: Path) -> None:
    picture = tmp_path / "tale.svg"
    assert asked("view", run, TALE, "--output", str(picture)) == f"{picture}\n"
    drawn = picture.read_text()
    assert "to be said" in drawn
    assert "read before" in drawn


def test_a_model_that_attends_to_nothing_is_not_drawn(tmp_path: Path) -> None:
    asked("train", "tales", *SHORT, *SMALL, "model.attention=null", "run=plain", "--runs", str(tmp_path))
    assert "attends to nothing that could be drawn" in refused("view", str(tmp_path / "plain"), TALE)


def test_with_and_without_are_compared() -> None:
    said = asked("compare", "tales", "model.attention=null,scaled_dot", "train.seed=1,2", "--dry-run")
    assert said.count("attention=scaled_dot") == 2


def test_a_pointer_begins_with_a_language_model(tmp_path: Path) -> None:
    plain = "model={kind: language_model, embedding_dim: 8, hidden_dim: 8, tied: true}"
    asked("train", "tales_pointer", *SHORT, plain, "run=plain", "--runs", str(tmp_path))
    first = f"init={tmp_path / 'plain'}"
    said = asked("train", "tales_pointer", *SHORT, *SMALL, first, "run=both", "--runs", str(tmp_path))
    assert "3 parameters it does not have begin anew: pointer.sentinel" in said


@pytest.mark.parametrize(
    ("recipe", "arguments", "sentence"),
    [
        ("tales_pointer", ("model.window=0",), "model.window is 0: input should be greater than or equal to 1"),
        ("tales_pointer", ("model.pairing=last",), "model.pairing is 'last': it can be read, next"),
        ("tales_pointer", ("model.attention=dot",), "there is no key 'model.attention'; there are: kind"),
        ("tales", ("data.names=3",), "data.names"),
        ("tales", ("task=classify",), "model.kind is 'char_rnn': of the task classify it can be acceptor"),
    ],
)
def test_recipes_that_do_not_fit_are_one_sentence(
    recipe: str, arguments: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    assert sentence in refused("train", recipe, *arguments, "--runs", str(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()
