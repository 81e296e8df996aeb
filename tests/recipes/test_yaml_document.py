"""YAML that remembers its lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from regard.recipes.errors import RecipeError
from regard.recipes.yaml_document import RecipeDocument

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
    document = RecipeDocument.parse(TEXT, "mine.yaml")
    assert document.content == {"run": "mine", "train": {"steps": 1000.0, "batch": [7, {"tokens": 8}]}}
    assert document.place(("run",)) == "mine.yaml, line 2"
    assert document.place(("train", "steps")) == "mine.yaml, line 5"
    assert document.place(("train", "batch", 1, "tokens")) == "mine.yaml, line 8"
    assert document.place(("train", "absent")) == "mine.yaml, line 4"
    assert document.place(("absent",)) == "mine.yaml"


def test_overrides_make_sections_and_have_no_line() -> None:
    document = RecipeDocument.parse("a: {b: 1, bc: 2}\nn:\n", "mine.yaml")
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
    assert RecipeDocument.parse("", "mine.yaml").overridden([f"data.separator={mark}"]).content == {
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
        RecipeDocument.parse(text, "mine.yaml")
    assert str(caught.value).startswith(sentence)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"run: caf\xe9")
    with pytest.raises(RecipeError, match=r"latin.yaml: not UTF-8 text \(byte 8\)"):
        RecipeDocument.read(tmp_path / "latin.yaml")
    with pytest.raises(RecipeError, match=r"cannot be read \(Is a directory\)"):
        RecipeDocument.read(tmp_path)
    assert RecipeDocument.parse("", "empty.yaml").content == {}


def test_what_stands_under_a_name_is_merged() -> None:
    text = "train: &base {steps: 5, seed: 1}\nmore:\n  <<: *base\n  seed: 2\n"
    assert RecipeDocument.parse(text, "a.yaml").content["more"] == {"steps": 5, "seed": 2}


def test_what_holds_itself_is_one_sentence() -> None:
    with pytest.raises(RecipeError, match=r"a.yaml, line 1: something in it holds itself; write it out"):
        RecipeDocument.parse("evaluate: &e {metrics: [*e]}", "a.yaml")


def laughs(levels: int, first: str, each: str) -> str:
    """A document whose aliases stand for 9 ** levels values."""
    text = f"a: &a {first}\n"
    for level in range(levels):
        name, before = chr(98 + level), chr(97 + level)
        text += f"{name}: &{name} {each % ', '.join([f'*{before}'] * 9)}\n"
    return text


@pytest.mark.parametrize(("first", "each"), [("[x]", "[%s]"), ("{k: 1}", "{<<: [%s]}"), ("{k: 1}", "{<<: [%s], k: 2}")])
def test_aliases_are_not_written_out_without_end(first: str, each: str) -> None:
    with pytest.raises(RecipeError, match=r"a.yaml, line \d+: .*aliases"):
        RecipeDocument.parse(laughs(20, first, each), "a.yaml")
    assert RecipeDocument.parse(laughs(2, first, each), "a.yaml").content["c"]


@pytest.mark.parametrize(
    ("value", "advice"),
    [
        ("2021-13-45", "reads as a date and is none; put it in quotes"),
        ("0x_", "reads as a whole number and is none; put it in quotes"),
        ("9" * 5000, "is too long for a whole number"),
        ("0x" + "f" * 5000, "has more than 1,024 bits; use a smaller number"),
        ("!!bool x", "reads as true or false and is none"),
        ("!!timestamp x", "reads as a date and is none"),
        ("!!int ''", "reads as a whole number and is none"),
        ("!!python/none", "could not determine a constructor"),
        ('"\\ud800"', "half of a surrogate pair, which is not a character"),
        ("[" * 400 + "]" * 400, "nested more than 100 levels deep"),
        ("[" * 101 + "]" * 101, "nested more than 100 levels deep"),
        ("{[a]: b}", "a key is a word, not a list or a mapping"),
        ("{<<: 3}", "'<<' takes a mapping, or a list of mappings"),
    ],
)
def test_a_value_that_cannot_be_built_is_one_sentence(value: str, advice: str) -> None:
    with pytest.raises(RecipeError) as caught:
        RecipeDocument.parse(f"run: a\nkey: {value}\n", "a.yaml")
    assert "a.yaml" in str(caught.value)
    assert advice in str(caught.value)
    with pytest.raises(RecipeError) as caught:
        RecipeDocument.parse("", "a.yaml").overridden([f"train.key={value}"])
    assert "train.key=" in str(caught.value)
    assert advice in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("byte", [0, 7, 27])
def test_a_character_that_yaml_does_not_have_is_named_with_its_line(byte: int) -> None:
    with pytest.raises(RecipeError, match=rf"a.yaml, line 2: the character U\+{byte:04X} is not allowed"):
        RecipeDocument.parse(f"run: a\nkey: b{chr(byte)}", "a.yaml")


def test_a_byte_that_is_not_utf8_on_the_command_line() -> None:
    with pytest.raises(RecipeError, match=r"'run=caf\\udce9' has a byte that is not UTF-8"):
        RecipeDocument.parse("", "a.yaml").overridden(["run=caf\udce9"])


def test_a_recipe_that_is_too_large_or_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text("# \n" * 2**16)
    with pytest.raises(RecipeError, match=r"large.yaml: a recipe has at most 131,072 bytes"):
        RecipeDocument.read(tmp_path / "large.yaml")
    with pytest.raises(RecipeError, match=r"/dev/zero is a pipe or a device"):
        RecipeDocument.read(Path("/dev/zero"))
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(RecipeError, match=r"pipe.yaml is a pipe or a device"):
        RecipeDocument.read(tmp_path / "pipe.yaml")
