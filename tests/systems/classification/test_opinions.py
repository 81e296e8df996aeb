"""Opinions: what words mean, and that splits are apart."""

from __future__ import annotations

import pytest

from regard.data import DataError
from regard.data.generated import adjectives
from regard.systems.classification.opinions import Opinions


def meant(text: str) -> set[str]:
    """What each part of a sentence says."""
    places = {word: place for place, word in enumerate(adjectives())}
    return {"good" if places[word] % 2 else "bad" for word in text.split() if word in places}


def test_all_parts_of_a_sentence_say_its_label() -> None:
    for example in Opinions(size=300):
        assert meant(str(example.fields["text"])) == {example.fields["label"]}


def test_splits_are_apart_and_seeds_differ() -> None:
    texts = [
        {example.fields["text"] for example in Opinions(split, size=200, words=9)}  # type: ignore[arg-type]
        for split in ("train", "valid", "test")
    ]
    assert not texts[0] & texts[1] | texts[0] & texts[2] | texts[1] & texts[2]
    assert Opinions(size=9)[3] != Opinions(size=9, seed=1)[3] == Opinions(size=4, seed=1)[3]
    labels = [example.fields["label"] for example in Opinions(size=500)]
    assert labels.count("good") == pytest.approx(250, abs=40)


def test_two_sentences_agree_or_differ() -> None:
    pairs = [example.fields for example in Opinions("test", size=300, words=9, pairs=True)]
    for fields in pairs:
        both = [meant(str(fields[name])) for name in ("text", "second")]
        assert fields["label"] == ("agree" if both[0] == both[1] else "differ")
    assert [fields["label"] for fields in pairs].count("agree") == pytest.approx(150, abs=30)
    learned = {
        example.fields[name] for example in Opinions(size=300, words=9, pairs=True) for name in ("text", "second")
    }
    assert not learned & {fields[name] for fields in pairs for name in ("text", "second")}


def test_wrong_settings_are_one_sentence() -> None:
    with pytest.raises(DataError, match="split is 'dev'"):
        Opinions("dev")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="1 to 2450 adjectives of each kind, not 0"):
        Opinions(words=0)
    with pytest.raises(IndexError, match="example 5 of 5"):
        Opinions(size=5)[5]
