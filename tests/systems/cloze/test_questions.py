"""Cloze questions: their texts and files, words as numbers, generated stories, baselines."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from regard.data import DataError, Tokenizer
from regard.data.example import Example
from regard.data.hash_split import Part
from regard.systems.cloze.baseline import GUESSES, accuracy
from regard.systems.cloze.field import ClozeField, WithCloze
from regard.systems.cloze.question import BLANK, Cloze, cloze_of, parsed_cloze
from regard.systems.cloze.readers import ChildrensBooks, News, PlainCloze
from regard.systems.cloze.reading import ABSENT, ClozeReading
from regard.systems.cloze.whodunit import Whodunit

WORDS = Tokenizer.train(["the old king saw a fox .", BLANK], kind="words", split="whitespace")
FOX = Cloze(("the old king saw Rex .", "Rex saw Tib ."), "XXXXX saw the old king", ("Rex", "old king", "Bo"))


def test_a_text_an_object_and_columns_state_the_same_question() -> None:
    text = "Ann left. Bo stayed.\tXXXXX went home\tAnn|Bo|Ann"
    parts = {"passage": ["Ann left.", "Bo stayed."], "question": "XXXXX went home", "candidates": ["Ann", "Bo"]}
    asked = parsed_cloze(text)
    assert asked == cloze_of(parts) == parsed_cloze(json.dumps(parts)) == parsed_cloze(str(asked))
    other = {"context": parts["passage"], "query": "@placeholder  went home", "candidates": "Ann|Bo"}
    assert parsed_cloze(json.dumps(other), "@placeholder") == asked
    assert asked.filled("Cy") == "Cy went home"
    assert parsed_cloze("Ann left.\tXXXXX, XXXXX!").filled("Bo") == "Bo, Bo!"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Who left?", "no cloze question"),
        ("a\tXXXXX\tb\tc", "no cloze question"),
        ("\tXXXXX left", "no passage"),
        ("Ann left.\t ", "no question"),
        ("Ann left.\tWho left?", "no placeholder 'XXXXX'"),
        ('{"passage": "Ann', "cannot be read as JSON"),
        ('{"question": "XXXXX"}', "no passage"),
        ('{"passage": [3], "question": "XXXXX"}', "no passage"),
        ('{"passage": "Ann", "question": "XXXXX", "candidates": 7}', "candidates '7'"),
    ],
)
def test_what_is_no_question_is_one_sentence(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parsed_cloze(text)


def test_the_childrens_books_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cbtest.txt.gz"
    first = "1 Ann left .\n2 Bo stayed .\n3 XXXXX went home .\tAnn\t\tAnn|Bo\n\n"
    path.write_bytes(gzip.compress(f"{first}1 Cy ran .\n2 XXXXX ran .\tCy\n".encode()))
    one, two = ChildrensBooks(path)
    assert one.fields["passage"] == ["Ann left .", "Bo stayed ."]
    assert (one.fields["candidates"], one.fields["answer"]) == (["Ann", "Bo"], "Ann")
    assert (two.fields["passage"], two.fields["candidates"]) == (["Cy ran ."], [])
    path.write_bytes(gzip.compress(b"1 Ann left .\n2 XXXXX left .\tBo\t\tAnn|Cy\nno number\n"))
    with pytest.raises(DataError, match=r"cbtest.txt.gz:2: the answer 'Bo' is none of the 2 candidates"):
        list(ChildrensBooks(path))
    found = ChildrensBooks(path, bad_lines="skip")
    with pytest.raises(DataError, match="every line is bad"):
        list(found)
    assert found.skipped.count == 2


def test_news_are_read_from_a_folder(tmp_path: Path) -> None:
    blocks = ("http://a", "@entity0 met @entity2 . @entity0 left", "@placeholder left", "@entity0", "@entity0:Ann")
    (tmp_path / "b.question").write_text("\n\n".join(blocks))
    (example,) = News(tmp_path)
    assert example.fields["candidates"] == ["@entity0", "@entity2"]
    assert example.fields["question"] == f"{BLANK} left"
    assert list(News(tmp_path / "b.question")) == [example]
    (tmp_path / "a.question").write_text("http://a\n\nonly an article")
    with pytest.raises(DataError, match=r"a\.question: the file has 2 blocks"):
        list(News(tmp_path))
    with pytest.raises(DataError, match=r"no file that ends in \.question"):
        list(News(tmp_path / "none"))


def test_own_files_have_objects_or_columns(tmp_path: Path) -> None:
    path, rows = tmp_path / "own.jsonl", [{"text": "Ann left.", "q": "XXXXX left", "a": "Ann", "extra": 1}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (example,) = PlainCloze(path, keys=("text", "q", "candidates", "a"))
    assert (example.fields["candidates"], example.fields["answer"]) == ([], "Ann")
    for line, why in (
        ("Ann left.\tXXXXX left\tAnn\n", "the line has 3 columns"),
        ("Ann left.\tXXXXX left\t\t \n", "there is no answer"),
        ("Ann left.\twho left\t\tAnn\n", "no placeholder"),
        ("\n", "no examples"),
    ):
        (tmp_path / "own.tsv").write_text(line)
        with pytest.raises(DataError, match=why):
            list(PlainCloze(tmp_path / "own.tsv"))
    (tmp_path / "own.tsv").write_text("Ann left.\tXXXXX left\n")
    assert len(list(PlainCloze(tmp_path / "own.tsv", questions=True))) == 1


def test_equal_words_have_one_number_and_unknown_ones_differ() -> None:
    found = ClozeReading(WORDS, slots=3)(FOX)
    assert list(found.names.values()) == ["the", "old king", "saw", "Rex", ".", "Tib"]
    assert found.words == [0, 1, 2, 3, 4, 3, 2, 5, 4]
    assert found.candidates == [3, 1, ABSENT]
    assert found.lines == [5, 4]
    slot = WORDS.size
    assert [index for index in found.passage if index >= slot] == [slot, slot + 1, slot + 1, slot + 2]
    assert found.question[-1] == slot  # the king of two words is one there too
    assert found.question[0] == WORDS.encode(BLANK)[0]
    known = ClozeReading(WORDS)(FOX)  # one unknown word for all
    assert known.words == found.words
    assert max(known.passage) < WORDS.size


def test_hidden_candidates_have_slots_even_if_they_are_known() -> None:
    asked = Cloze(("the king saw a fox",), "XXXXX saw a fox", ("king", "fox"))
    shown, hidden = (ClozeReading(WORDS, 4, hide)(asked).passage for hide in (False, True))
    assert max(shown) < WORDS.size
    assert [place for place, index in enumerate(hidden) if index >= WORDS.size] == [1, 4]


def test_without_candidates_nothing_is_hidden() -> None:
    asked = Cloze(("the king saw a fox",), "XXXXX saw a fox")
    kind = ClozeField(WORDS, slots=4, hide=True)
    assert kind.encode([(asked, "king")])["ids"].values.max() < WORDS.size  # nor is the answer, which nobody would know
    assert kind.encode([(asked, "king")])["answer"].values.tolist() == [1]


def test_equal_words_are_equal_in_their_normal_form() -> None:
    lower = Tokenizer.train(["rex saw tib"], kind="words", lowercase=True)
    found = ClozeReading(lower)(Cloze(("Rex saw Tib; REX!",), "XXXXX saw", ("rex",)))
    assert found.words == [0, 1, 2, 3, 0, 4]
    assert found.candidates == [0]


def test_the_field_stores_answers_beyond_the_candidates() -> None:
    kind = ClozeField(WORDS, slots=2)
    values = [(FOX, "old king"), (FOX, "Bo"), (Cloze(FOX.passage, FOX.question), "Tib"), (FOX, None)]
    stored = kind.encode(values)
    assert stored["answer"].values.tolist() == [1, ABSENT, 6, ABSENT]
    assert stored["words"].counts.tolist() == [9, 9, 10, 9]  # "old king" is one word where it is a candidate
    assert kind.fingerprint != ClozeField(WORDS, slots=2, hide=True).fingerprint


def test_each_person_of_the_stories_acts_about_equally_often() -> None:
    every = {split: list(Whodunit(split, size=200)) for split in get_args(Part)}
    assert every["test"] == list(Whodunit("test", size=200))
    names = {split: {name for one in part for name in one.fields["candidates"]} for split, part in every.items()}
    assert not names["train"] & names["test"]
    assert not names["valid"] & names["test"]
    for example in every["test"]:
        told = " ".join(example.fields["passage"]).split()
        assert example.fields["answer"] in told
        assert set(example.fields["candidates"]) <= set(told)
    chance = np.mean([1 / len(one.fields["candidates"]) for one in every["test"]])
    rates = {name: accuracy(guess, every["test"]) for name, guess in GUESSES.items()}
    assert rates["most frequent candidate"] < chance + 0.08
    assert rates["last candidate"] < chance + 0.08
    assert rates["overlap of words"] < 0.45
    with pytest.raises(DataError, match="4 <= shortest <= longest"):
        Whodunit(shortest=2)


def test_baselines_guess_without_candidates_too() -> None:
    fields = {"passage": ["Ann saw Bo .", "Bo ran home ."], "question": "XXXXX ran home", "candidates": []}
    asked = [Example({**fields, "answer": "Bo"}, "")]
    assert accuracy(GUESSES["most frequent candidate"], asked) == 1.0
    assert accuracy(GUESSES["last candidate"], asked) == 0.0  # the last word is a full stop


def test_a_mixture_has_questions_in_each_part() -> None:
    example = next(iter(WithCloze.of(Whodunit(size=1))))
    cloze, answer = example.fields["passage"]
    assert answer in cloze.candidates
    assert BLANK in cloze.question
