"""Files in the place of a recipe's own: their formats and columns as a section `data`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from regard.recipes.errors import RecipeError
from regard.recipes.file_data import FileLayout, file_formats, measured_section
from regard.recipes.system import system_of, systems


def section(task: str, own: dict[str, Any], *files: Path, **layout: Any) -> Any:
    fields, answer = {"translate": (("source",), "target"), "tag": (("text",), "tags")}.get(task, (("text",), "label"))
    if task == "language_model":
        answer = None  # type: ignore[assignment]
    system = system_of(task)
    mine = system.formats[own["format"]].model_validate(own)
    found = measured_section(mine, system, files, FileLayout(**layout), fields, answer)
    return system.formats[found["format"]].model_validate(found)


TABLE = {"format": "table", "train": "t.csv", "valid": "v.csv", "source": 2, "target": 0, "encoding": "latin-1"}
PAIRS = {
    "format": "pairs",
    "train": {"source": "a.de", "target": "a.en"},
    "split": {"valid": 0.1, "test": 0.1},
    "root": "/data",
    "bad_lines": "skip",
}


def test_the_recipe_says_what_the_command_line_does_not(tmp_path: Path) -> None:
    found = section("classify", TABLE, tmp_path / "new.csv")
    assert (found.format, found.source, found.target, found.encoding) == ("table", 2, 0, "latin-1")
    assert (found.root, found.split, found.test) == (None, None, str(tmp_path / "new.csv"))
    told = section("classify", TABLE, tmp_path / "new.csv", source=("text",), target="label", encoding="utf-8")
    assert (told.source, told.target, told.header, told.encoding) == ("text", "label", True, "utf-8")
    assert section("classify", TABLE, tmp_path / "new.txt").format == "table"
    divided = TABLE | {"valid": None, "split": {"valid": 0.1, "test": 0.1}}
    assert section("classify", divided, tmp_path / "new.csv").test == str(tmp_path / "new.csv")


def test_another_format_has_the_columns_it_would_have(tmp_path: Path) -> None:
    found = section("classify", TABLE, tmp_path / "new.jsonl.gz")
    assert (found.format, found.source, found.target, found.encoding) == ("jsonl", "text", "label", "latin-1")
    named = {"format": "jsonl", "train": "t.jsonl", "valid": "t.jsonl", "source": "body", "target": "kind"}
    table = section("classify", named, tmp_path / "new.tsv")
    assert (table.format, table.source, table.target, table.header) == ("table", "body", "kind", True)
    made = section("translate", {"format": "dates"}, tmp_path / "new.tsv")
    assert (made.format, made.source, made.target, made.header) == ("table", 0, 1, False)
    assert section("language_model", {"format": "tales"}, tmp_path / "a.txt", format="text").format == "text"


def test_pairs_are_two_files(tmp_path: Path) -> None:
    found = section("translate", PAIRS, tmp_path / "b.de", tmp_path / "b.en")
    assert (found.test.source, found.test.target) == (str(tmp_path / "b.de"), str(tmp_path / "b.en"))
    assert (found.root, found.split, found.bad_lines) == (None, None, "skip")
    assert section("translate", PAIRS, tmp_path / "b.tsv").format == "table"
    with pytest.raises(RecipeError, match=r"b\.de: say how it is read with --format .*; or give two files"):
        section("translate", PAIRS, tmp_path / "b.de")


def test_a_folder_is_measured_on(tmp_path: Path) -> None:
    own = {"format": "folder", "train": "reviews", "root": "/data"}
    assert section("classify", own, tmp_path).test == str(tmp_path)


@pytest.mark.parametrize(
    ("task", "own", "sentence"),
    [
        ("bits", {"format": "copy"}, "the task 'bits' is not measured on a file"),
        ("translate", {"format": "dates"}, r"a\.txt: say how it is read with --format table, jsonl, cmudict"),
    ],
)
def test_what_nothing_says_is_asked_for(task: str, own: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=sentence):
        section(task, own, tmp_path / "a.txt")


def test_formats_are_those_of_the_sections() -> None:
    for system in systems().values():
        assert [one.model_fields["format"].annotation.__args__ for one in system.data] == [(x,) for x in system.formats]  # type: ignore[union-attr]
    assert "table" in file_formats(system_of("classify"))
    assert file_formats(system_of("nodes")) == {}
