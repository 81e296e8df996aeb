"""Dialogues become pairs of history and reply; those that are learned from are left out of tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.data import DataError
from regard.recipes.load import load
from regard.systems.replies.dialogues import Dialogues, history, parsed_turns
from regard.systems.replies.smalltalk import Smalltalk
from regard.tasks.task import task_class


def write(path: Path, *dialogues: list[str]) -> Path:
    path.write_text("".join(json.dumps({"turns": turns}) + "\n" for turns in dialogues))
    return path


def test_each_turn_but_the_first_is_a_reply(tmp_path: Path) -> None:
    path = write(tmp_path / "talk.jsonl", ["a", "b", "c  c", "d"], ["e", "f"])
    pairs = [tuple(one.fields.values()) for one in Dialogues(path, turns=2, separator="#")]
    assert pairs == [("a", "b"), ("a # b", "c c"), ("b # c c", "d"), ("e", "f")]


def test_dialogues_of_the_training_file_are_left_out(tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", ["Hi .", "Hello ."], ["x", "y"])
    write(tmp_path / "test.jsonl", ["hi.", "Hello  ."], ["x", "z"], ["x", "y", "z"])
    overrides = ["data={format: dialogues, train: train.jsonl, valid: test.jsonl}", f"data.root={tmp_path}"]
    for kept, answers in (("drop", ["z", "y", "z"]), ("pairs", ["z"]), ("keep", ["Hello .", "z", "y", "z"])):
        recipe = load("smalltalk", [*overrides, f"data.overlap={kept}"], model=False).recipe
        reading = task_class(recipe.task).reading(recipe)
        found = recipe.data.examples("valid", reading)
        assert found is not None
        assert [one.fields["target"] for one in found] == answers
        assert train in found.files or kept == "keep"
        assert len(list(recipe.data.examples("train", reading) or ())) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "not JSON"),
        ('{"talk": []}', "'turns' among talk"),
        ('{"turns": "a"}', "'turns' is not a list"),
        ('{"turns": ["a", " "]}', "blank"),
        ('{"turns": ["a"]}', "at least 2 turns"),
    ],
)
def test_a_bad_line_is_one_sentence(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(f'{{"turns": ["a", "b"]}}\n{line}\n')
    with pytest.raises(DataError, match=r"bad\.jsonl:2") as raised:
        list(Dialogues(path))
    assert said in str(raised.value)
    assert len(list(Dialogues(path, bad_lines="skip"))) == 1


def test_an_input_is_a_json_list_or_lines() -> None:
    assert parsed_turns('["a  b", "c"]') == parsed_turns("a b\n\nc\n") == ["a b", "c"]
    assert parsed_turns("[laughs] so") == ["[laughs] so"]
    for wrong in ("[]", "[1]"):
        with pytest.raises(ValueError, match="list of texts"):
            parsed_turns(wrong)


def test_what_was_said_turns_ago_is_the_answer() -> None:
    examples = [one.fields for one in Smalltalk(size=300, turns=9, facts=4)]
    questions = [one for one in examples if str(one["source"]).endswith("?") and str(one["target"]).startswith("you")]
    assert 150 < len(questions) < 250
    for one in questions:
        said = {word for turn in str(one["source"]).split(" | ")[:-1] for word in turn.split()}
        assert set(str(one["target"]).split()) - {"you", "have", "like", "were", "are"} <= said
    assert max(str(one["source"]).count("|") for one in examples) == 8
    assert max(str(one.fields["source"]).count("|") for one in Smalltalk(size=99, turns=3)) == 2


def test_splits_are_apart() -> None:
    found = [{str(one.fields["source"]) for one in Smalltalk(part, size=300, turns=9)} for part in ("train", "test")]  # type: ignore[arg-type]
    assert not found[0] & found[1]
    with pytest.raises(DataError, match="facts is 5"):
        Smalltalk(facts=5)


def test_a_history_has_the_last_turns() -> None:
    assert history(["a", "b", "c"], 2, "|") == "b | c"
    assert history(["a"], 2, "|") == "a"
