"""The gallery: what it draws, and the pictures that are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.gallery import GALLERY, LARGEST, asked, entries, page, shown_title

from regard.predictor import load
from regard.recipes.library import shipped
from regard.recipes.system import systems
from tests.train.tiny import train


def test_there_is_one_entry_per_system_with_an_offline_recipe_and_translation_is_first() -> None:
    found = entries()
    assert found[0].system == "translation"
    assert len({entry.system for entry in found}) == len(found) >= 15
    assert len(found) <= len(systems())
    assert all(entry.recipe in shipped() for entry in found)


def test_every_line_of_a_recipe_is_read() -> None:
    lines = [path.parent.name for path in shipped().values() if "# Gallery:" in path.read_text()]
    assert len(lines) == len(set(lines))
    assert {entry.system for entry in entries() if entry.seen != "What the model looks at."} == set(lines)


def test_pictures_are_small_and_stand_on_the_page() -> None:
    text = (GALLERY / "README.md").read_text(encoding="utf-8")
    pictures = sorted(path.name for path in GALLERY.glob("*.png"))
    assert sorted(re.findall(r"\]\((\w+\.png)\)", text)) == pictures
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert titles[0] == shown_title(entries()[0].system)
    assert len(titles) == len(re.findall(r"^!\[", text, re.MULTILINE)) >= 15
    assert set(titles) <= set(re.findall(r"^## (.+)$", page(entries()), re.MULTILINE))
    assert all((GALLERY / name).stat().st_size <= LARGEST for name in pictures)


def test_an_input_is_a_text_or_an_example(tmp_path: Path) -> None:
    train(tmp_path / "tiny", "train.steps=2", "train.valid_every=2")
    predictor = load(tmp_path / "tiny")
    entry = entries()[0]
    assert asked(entry, predictor) == entry.given
    by_number = next(one for one in entries() if one.given is None)
    assert isinstance(asked(by_number, predictor), str)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.system)
def test_what_is_seen_is_a_sentence(entry) -> None:  # type: ignore[no-untyped-def]
    assert entry.seen.endswith(".")
