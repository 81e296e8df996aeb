"""Utterances of dialogues: a label for each turn, numbers with names, and lines that do not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.data import DataError
from regard.recipes.load import load
from regard.systems.classification.utterances import Utterances
from regard.tasks.task import task_class


def test_each_turn_has_its_label(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"turns": ["a", "b c"], "act": [1, 0]}\n{"turns": ["d"], "act": [2]}\n')
    found = [tuple(one.fields.values()) for one in Utterances(path, label="act", names=("x", "y", "z"))]
    assert found == [("a", "y"), ("b c", "x"), ("d", "z")]
    assert [one.fields["label"] for one in Utterances(path, label="act")] == ["1", "0", "2"]
    assert [one.fields for one in Utterances(path, label="none").asking({})] == [
        {"text": "a"},
        {"text": "b c"},
        {"text": "d"},
    ]


def test_turns_before_are_read_too_and_dialogues_of_the_training_file_are_left_out(tmp_path: Path) -> None:
    rows = {
        "train.jsonl": [["a", "b"]],
        "test.jsonl": [["A ", "b"], ["c", "a", "b", "d"], ["a", "c", "b"]],
    }
    for name, dialogues in rows.items():
        lines = [json.dumps({"turns": turns, "emotion": [0] * len(turns)}) for turns in dialogues]
        (tmp_path / name).write_text("\n".join(lines))
    section = "{format: utterances, train: train.jsonl, valid: test.jsonl, names: [none], context: 2}"
    last = ["a", "a | c", "a | c | b"]
    each = {"keep": ["A ", "A  | b"], "drop": [], "pairs": []}
    for overlap, first in each.items():
        overrides = [f"data={section}", f"data.root={tmp_path}", f"data.overlap={overlap}"]
        recipe = load("emotion", overrides, model=False).recipe
        found = recipe.data.examples("valid", task_class(recipe.task).reading(recipe))
        middle = [] if overlap == "pairs" else ["c", "c | a", "c | a | b", "a | b | d"]
        assert [one.fields["text"] for one in found or ()] == [*first, *middle, *last]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nothing", "not JSON"),
        ('{"turns": ["a"]}', "'emotion' among turns"),
        ('{"turns": ["a"], "emotion": [0, 1]}', "1 turns and 2 labels"),
        ('{"turns": [" "], "emotion": [0]}', "blank"),
        ('{"turns": ["a"], "emotion": [2]}', "from 0 to 1"),
    ],
)
def test_a_bad_line_is_one_sentence(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DataError, match=r"talk\.jsonl:1") as raised:
        list(Utterances(path, names=("x", "y")))
    assert said in str(raised.value)


def test_a_recipe_reads_them(tmp_path: Path) -> None:
    for name in ("train", "validation", "test"):
        (tmp_path / f"{name}.jsonl.gz").write_bytes(b"")
    (tmp_path / "talk.jsonl").write_text('{"turns": ["a", "b"], "emotion": [0, 6]}\n')
    overrides = [f"data.root={tmp_path}", "data.train=talk.jsonl"]
    recipe = load("emotion", overrides, model=False).recipe
    found = recipe.data.examples("train", task_class(recipe.task).reading(recipe))
    assert [one.fields["label"] for one in found or ()] == ["none", "surprise"]
