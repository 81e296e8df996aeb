"""WordNet's files, in miniature."""

from __future__ import annotations

from pathlib import Path

import pytest

from regard.evaluate import WordNet

LICENCE = "  1 This software and database is being provided to you\n  2 WordNet 3.0 Copyright 2006 by nobody.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Cars and automobiles, buses, people, going and travelling, fast and quick."""
    nouns = [
        "automobile n 1 2 @ ~ 1 1 02958343",
        "bus n 2 1 @ 2 1 02924116 02959942",
        "car n 2 3 @ ~ %p 2 1 02958343 02959942",
        "car_pool n 1 1 @ 1 0 08000000",
        "man n 1 1 @ 1 1 10287213",
        "person n 1 1 @ 1 1 00007846",
    ]
    verbs = ["go v 1 0 1 1 01835496", "locomote v 1 1 @ 1 0 01835496", "pool v 1 0 1 0 02958343"]
    for name, lines in (("noun", nouns), ("verb", verbs), ("adj", ["fast a 1 1 & 1 1 00976508"]), ("adv", [])):
        (tmp_path / f"index.{name}").write_text(LICENCE + "".join(f"{line}  \n" for line in lines))
    (tmp_path / "verb.exc").write_text("gone go\nwent go\n")
    return tmp_path


def test_words_that_share_a_set_are_synonyms(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.synsets("car") == {"noun:02958343", "noun:02959942"}
    assert wordnet.synsets("car") & wordnet.synsets("automobile") == {"noun:02958343"}
    assert not wordnet.synsets("automobile") & wordnet.synsets("bus")
    assert wordnet.version == "3.0"


def test_the_same_number_of_another_part_of_speech_is_another_set(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert not wordnet.synsets("pool") & wordnet.synsets("automobile")


def test_forms_are_taken_to_their_base(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.synsets("cars") == wordnet.synsets("car")
    assert wordnet.synsets("buses") == wordnet.synsets("bus")
    assert wordnet.synsets("men") == wordnet.synsets("man")
    assert wordnet.synsets("went") == wordnet.synsets("locomotes") == {"verb:01835496"}
    assert wordnet.synsets("faster") == {"adj:00976508"}
    assert wordnet.synsets("xyzzy") == wordnet.synsets("") == frozenset()


def test_what_is_not_wordnet_is_named(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere/index\.noun cannot be read; give the path of WordNet"):
        WordNet(tmp_path / "nowhere")
    (folder / "index.adv").write_text(LICENCE + "quickly r x\n")
    with pytest.raises(ValueError, match=r"index\.adv, line 3: not a line of a WordNet index"):
        WordNet(folder)
