"""YAML that remembers its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.recipes.document import Document
from regard.recipes.problem import RecipeError

TEXT = """\
# a comment
run: mine

train:
  steps: 1e3
  batch:
    - 7
    - {tokens: 8}
"""


def test_lines_of_keys_and_items() -> None:
    document = Document.parse(TEXT, "mine.yaml")
    assert document.content == {"run": "mine", "train": {"steps": 1000.0, "batch": [7, {"tokens": 8}]}}
    assert document.place(("run",)) == "mine.yaml, line 2"
    assert document.place(("train", "steps")) == "mine.yaml, line 5"
    assert document.place(("train", "batch", 1, "tokens")) == "mine.yaml, line 8"
    assert document.place(("train", "absent")) == "mine.yaml, line 4"
    assert document.place(("absent",)) == "mine.yaml"


def test_overrides_make_sections_and_have_no_line() -> None:
    document = Document.parse("a: {b: 1, bc: 2}\nn:\n", "mine.yaml")
    changed = document.overridden(["a.b=[1, x]", "n.m=true", "new.deep.er=1e-3", "a.t='5'"])
    assert changed.content == {
        "a": {"b": [1, "x"], "bc": 2, "t": "5"},
        "n": {"m": True},
        "new": {"deep": {"er": 0.001}},
    }
    assert changed.place(("a", "b", 0)) == changed.place(("new", "deep", "er")) == "the command line"
    assert changed.place(("new",)) == changed.place(("new", "deep")) == "the command line"
    assert changed.place(("n",)) == "mine.yaml, line 2"
    assert changed.place(("a", "bc")) == "mine.yaml, line 1"
    assert document.content == {"a": {"b": 1, "bc": 2}, "n": None}


@pytest.mark.parametrize("mark", list(",|#-?:&*!>%@` \t"))
def test_a_mark_of_yaml_that_stands_alone_is_itself(mark: str) -> None:
    assert Document.parse("", "mine.yaml").overridden([f"data.separator={mark}"]).content == {
        "data": {"separator": mark}
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\nb: 2\na: 3\n", "mine.yaml, line 3: 'a' stands twice (first on line 1)"),
        ("a:\n  b: 1\n  b: 2\n", "mine.yaml, line 3: 'b' stands twice (first on line 2)"),
        ("a: [1, 2\nb: 3\n", "mine.yaml, line 2: "),
        ("a: 1\n\tb: 2\n", "mine.yaml, line 2: "),
        ("a: b: c\n", "mine.yaml, line 1: mapping values are not allowed here"),
        ("- a\n- b\n", "mine.yaml: a recipe is a mapping of keys to values, not a list"),
        ("just text", "mine.yaml: a recipe is a mapping of keys to values, not a str"),
    ],
)
def test_what_is_not_a_recipe(text: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as caught:
        Document.parse(text, "mine.yaml")
    assert str(caught.value).startswith(sentence)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"run: caf\xe9")
    with pytest.raises(RecipeError, match=r"latin.yaml: not UTF-8 text \(byte 8\)"):
        Document.read(tmp_path / "latin.yaml")
    with pytest.raises(RecipeError, match=r"cannot be read \(Is a directory\)"):
        Document.read(tmp_path)
    assert Document.parse("", "empty.yaml").content == {}


def test_what_stands_under_a_name_is_merged() -> None:
    text = "train: &base {steps: 5, seed: 1}\nmore:\n  <<: *base\n  seed: 2\n"
    assert Document.parse(text, "a.yaml").content["more"] == {"steps": 5, "seed": 2}


def test_what_holds_itself_is_one_sentence() -> None:
    with pytest.raises(RecipeError, match=r"a.yaml: something in it holds itself; write it out"):
        Document.parse("evaluate: &e {metrics: [*e]}", "a.yaml")
