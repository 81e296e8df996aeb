"""Passages with questions: readers, windows, and answers that are text again."""

from __future__ import annotations

import gzip
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from regard.data import SPECIALS, DataError, SpanField, SpanTable, Squad, Tokenizer
from regard.data.example import Example
from regard.data.problems import SkippedLines
from regard.systems.recall.glossary import Glossary
from regard.systems.spans.diaries import Diaries
from regard.systems.spans.windows import WindowCutter, Windows, word_numbers

PASSAGE = "Zoë wasn't in São Paulo (1843–50); 3.5% of it — “naïve” — she sold  near the old harbour."


def squad(*asked: dict[str, object]) -> str:
    return json.dumps({"data": [{"title": "t", "paragraphs": [{"context": PASSAGE, "qas": list(asked)}]}]})


def test_a_gzip_file_of_squad_that_is_none_or_too_large(tmp_path: Path) -> None:
    path = tmp_path / "dev.json.gz"
    whole = gzip.compress(squad({"id": "1", "question": "who?", "answers": []}).encode())
    for broken in (b"{}", whole[:-9], b""):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"dev.json.gz"):
            list(Squad(path))
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"dev.json.gz: the file has more than 100 bytes, 100 times data.max_line"):
        list(Squad(path, max_line=1))


def test_squad_is_read_with_all_answers(tmp_path: Path) -> None:
    path, start = tmp_path / "dev.json", PASSAGE.index("São")
    answers = [{"text": "São Paulo", "answer_start": start}, {"text": "Paulo", "answer_start": start + 4}]
    path.write_text(squad({"id": "1", "question": "where?", "answers": [*answers, answers[0]]}), encoding="utf-8")
    (example,) = Squad(path)
    assert example.fields["answer"] == "São Paulo"
    assert example.fields["start"] == str(start)
    assert example.fields["answers"] == ["São Paulo", "Paulo"]


def test_what_squad_has_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "dev.json"
    path.write_text(squad({"id": "7", "question": "who?", "answers": [{"text": "Zoe", "answer_start": 0}]}))
    with pytest.raises(DataError, match=r"dev.json: question 7: the answer 'Zoe' does not stand at character 0"):
        list(Squad(path))
    path.write_text(squad({"id": "8", "question": "who?", "answers": [], "is_impossible": True}))
    with pytest.raises(DataError, match="question 8: there is no answer in the passage"):
        list(Squad(path))
    for wrong in ("[1]", "{}", "no", "[" * 100_000, '{"data": 3}', '{"data": [[]]}', '{"data": {"a": "b"}}'):
        path.write_text(wrong)
        with pytest.raises(DataError, match=r"dev.json is not in SQuAD's format"):
            list(Squad(path))


@pytest.mark.parametrize(
    ("paragraph", "problem"),
    [
        ("text", "paragraph 1: this is not {context: ..., qas: [...]}"),
        ({"context": PASSAGE, "qas": None}, "paragraph 1: this is not {context: ..., qas: [...]}"),
        ({"context": PASSAGE, "qas": ["who?"]}, "paragraph 1, question 1: this is not {question: ..., answers: [...]}"),
        ({"qas": [{"id": "7", "question": "who?", "answers": ["Zoë"]}]}, "question 7: its answers are not [{text: "),
        (
            {"qas": [{"id": "7", "answers": {"text": ["Zoë"], "answer_start": []}}]},
            "question 7: its answers are not [{",
        ),
    ],
)
def test_parts_of_squad_that_are_something_else_are_bad_lines(paragraph: object, problem: str, tmp_path: Path) -> None:
    path, good = tmp_path / "dev.json", {"question": "who?", "answers": {"text": ["Zoë"], "answer_start": [0]}}
    paragraphs = [paragraph, {"context": PASSAGE, "qas": [good]}]
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    with pytest.raises(DataError, match=re.escape(f"dev.json: {problem}")):
        list(Squad(path))
    (example,) = Squad(path, bad_lines="skip")
    assert example.fields["answers"] == ["Zoë"]  # as Hugging Face's datasets write it


@pytest.mark.parametrize("answer", [{}, {"answer": None}, {"answer": []}, {"answer": [None]}])
def test_an_object_without_an_answer_is_a_bad_line(answer: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"question": "who?", "context": "None left.", **answer}) + "\n")
    with pytest.raises(DataError, match=r"a.jsonl:1: there is no answer"):
        list(SpanTable(tmp_path / "a.jsonl"))


def test_a_passage_in_csv_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'who?,"Ada, {"and " * 50_000}Carl",Carl\n')
    assert [example.fields["answer"] for example in SpanTable(tmp_path / "a.csv")] == ["Carl"]


def test_plain_files(tmp_path: Path) -> None:
    table, objects = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    table.write_text("who?\tAda met Ada.\tAda\t8\nwho?\tAda met Carl.\tCarl\n", encoding="utf-8")
    assert [example.fields["start"] for example in SpanTable(table)] == ["8", "8"]
    row = {"question": "who?", "context": "Ada met\tCarl.\n", "answer": ["Carl", "Carl."]}
    objects.write_text(json.dumps(row) + "\n", encoding="utf-8")
    (example,) = SpanTable(objects)
    assert example.fields["context"] == "Ada met Carl. "
    assert example.fields["answers"] == ["Carl", "Carl."]
    (tmp_path / "a.csv").write_text('"who, then?","Ada, she met Carl.",Carl\n')
    assert [example.fields["question"] for example in SpanTable(tmp_path / "a.csv")] == ["who, then?"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("who?\tAda left.", r":1: the line has 2 columns; there are question, context, answer, start"),
        ("who?\tAda left.\tCarl", r":1: the answer 'Carl' does not stand in the passage"),
        ("who?\tAda left.\tAda\tx", r":1: the start 'x' is no number"),
        ("who?\tAda left.\t \t0", r":1: there is no answer"),
        (" \tAda left.\tAda", r":1: there is no question"),
    ],
)
def test_bad_lines_are_named(line: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(line + "\n")
    with pytest.raises(DataError, match=problem):
        list(SpanTable(tmp_path / "a.tsv"))
    (tmp_path / "a.jsonl").write_text("[3]\n")
    with pytest.raises(DataError, match="not an object"):
        list(SpanTable(tmp_path / "a.jsonl"))


def tokenizer(kind: str, *, lowercase: bool = False) -> Tokenizer:
    characters = set(PASSAGE.lower() if lowercase else PASSAGE)  # longer pieces of this little text hold other words
    size = {"bpe": 300, "wordpiece": 70, "unigram": len(SPECIALS) + len(characters)}.get(kind)
    return Tokenizer.train([PASSAGE] * 3, kind=kind, size=size, lowercase=lowercase)  # type: ignore[arg-type]


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("kind", ["words", "characters", "bpe", "unigram", "wordpiece"])
def test_pieces_of_a_span_are_its_text_again(kind: str, lowercase: bool) -> None:
    cutting = WindowCutter(tokenizer(kind, lowercase=lowercase), size=40, overlap=30)
    windows = cutting.windows(PASSAGE)
    assert len(windows) > 1 or kind not in ("characters", "unigram")
    for answer in ("Zoë", "São Paulo", "1843", "naïve", "near the old harbour"):
        start = PASSAGE.index(answer)
        found = [(one, cutting.span(one, start, start + len(answer))) for one in windows]
        held = [(one, span) for one, span in found if span is not None]
        assert held
        for window, (first, last) in held:
            places = cutting.tokenizer.places(window.text)
            text = window.text[places[first][0] : places[last][1]]
            assert text == answer or (kind == "words" and answer in text)


@pytest.mark.parametrize(("size", "overlap"), [(3, 0), (5, 2), (7, 6), (100, 5)])
def test_windows_are_the_whole_passage_and_overlap(size: int, overlap: int) -> None:
    words = " ".join(f"w{number}" for number in range(23))
    cutting = WindowCutter(Tokenizer.train([words], kind="words"), size=size, overlap=overlap)
    windows = cutting.windows(words)
    seen = {number for window in windows for number in range(window.begin, window.begin + len(window.text))}
    assert {number for number in range(len(words)) if words[number] != " "} <= seen
    assert {word for window in windows for word in window.text.split()} == set(words.split())
    assert all(words[one.begin :].startswith(one.text) for one in windows)
    assert all(len(one.text.split()) <= size for one in windows)
    for one, other in pairwise(windows):
        assert len(set(one.text.split()) & set(other.text.split())) == min(overlap, size - 1)


def test_a_word_longer_than_a_window_is_cut() -> None:
    characters = Tokenizer.train(["ab c"], kind="characters")
    cut = WindowCutter(characters, size=3, overlap=1).windows("a abababab c")
    assert [one.text for one in cut] == ["a", "aba", "bab", "ab", "c"]
    assert [one.begin for one in cut] == [0, 2, 5, 8, 11]


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram", "wordpiece"])
def test_no_window_has_more_pieces_than_it_may(kind: str) -> None:
    cutting = WindowCutter(tokenizer(kind), size=20, overlap=5)
    passage = f"Zoë {'.' * 100} sold {'naïve—' * 400} it – {'—São😀' * 7}"
    windows = cutting.windows(passage)
    assert max(len(cutting.tokenizer.encode(one.text)) for one in windows) <= 20
    seen = {one.begin + place for one in windows for place in range(len(one.text))}
    assert seen >= {place for place, letter in enumerate(passage) if not letter.isspace()}
    assert all(passage[one.begin :].startswith(one.text) for one in windows)


class Given:
    files: tuple[Path, ...] = ()
    skipped = SkippedLines()

    def __init__(self, *examples: Example) -> None:
        self.examples = examples

    def settings(self) -> str:
        return "given"

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.examples)


def test_only_windows_with_the_answer_are_learned_from() -> None:
    words = "a b c d e f g h"
    cutting = WindowCutter(Tokenizer.train([words], kind="words"), size=4, overlap=2)
    asked = Example({"question": "?", "context": words, "answer": "c d", "start": "4"}, "here")
    found = list(Windows(Given(asked), cutting))
    assert [(one.fields["context"], one.fields["span"]) for one in found] == [
        ("a b c d", ["2", "3"]),
        ("c d e f", ["0", "1"]),
    ]
    assert SpanField().encode([one.fields["span"] for one in found])["pieces"].values.tolist() == [2, 3, 0, 1]
    long = Example({"question": "?", "context": words, "answer": words, "start": "0"}, "here")
    with pytest.raises(DataError, match=r"no answer fits a window of 4 pieces; raise data\.window"):
        list(Windows(Given(long), cutting))


def test_words_are_counted_by_their_spaces() -> None:
    assert word_numbers("ab  cd e", [(0, 1), (1, 2), (4, 6), (7, 8)]) == [0, 0, 1, 2]


def test_generated_answers_stand_where_they_are_said_to() -> None:
    kinds = set()
    for split in ("train", "valid", "test"):
        for example in Diaries(split, size=60):  # type: ignore[arg-type]
            context, answer = str(example.fields["context"]), str(example.fields["answer"])
            start = int(str(example.fields["start"]))
            assert context[start : start + len(answer)] == answer
            kinds.add(str(example.fields["question"]).split()[0])
    assert kinds == {"What", "Where", "When"}
    passages = [{str(one.fields["context"]) for one in Diaries(split, size=400)} for split in ("train", "test")]  # type: ignore[arg-type]
    assert not passages[0] & passages[1]


def test_people_take_turns_and_do_nothing_twice() -> None:
    for example in Diaries(size=60, longest=6, people=2):
        sentences = str(example.fields["context"]).rstrip(".").split(". ")
        done = [tuple(sentence.split()[:2]) for sentence in sentences]
        assert len({name for name, _ in done}) == min(2, len(done))
        assert len(set(done)) == len(done)
        start = int(str(example.fields["start"]))
        asked = str(example.fields["context"])[:start].rpartition(". ")[2].split()
        assert str(example.fields["question"]).split()[2] == asked[0]
    for wrong in ({"people": 0}, {"people": 13}, {"people": 1, "longest": 7}):
        with pytest.raises(DataError, match=r"people|sentences"):
            Diaries(**wrong)


def test_articles_of_squad_have_names(tmp_path: Path) -> None:
    asked = {"question": "where?", "answers": [{"text": "Zoë", "answer_start": 0}]}
    paragraphs = [{"context": PASSAGE, "qas": [asked]}]
    articles = [{"title": "Zoë", "paragraphs": paragraphs}, {"paragraphs": paragraphs}]
    (tmp_path / "a.json").write_text(json.dumps({"data": articles}))
    assert [one.fields["article"] for one in Squad(tmp_path / "a.json")] == ["Zoë", "article 2"]


def test_a_glossary_does_not_contradict_itself() -> None:
    entries = [example.fields for example in Glossary("test", size=300, words=300)]
    assert len({str(one["source"]) for one in entries}) == 300
    assert all(one["fact"] == f"{one['source']} {one['target']}" for one in entries)
    learned = {str(one.fields["fact"]) for one in Glossary("train", size=3000, words=300)}
    assert not learned & {str(one["fact"]) for one in entries}
    meanings = [str(one.fields["target"]) for one in Glossary(size=600, words=300) if one.fields["source"] == "taro"]
    assert len(set(meanings)) == len(meanings) == 2 or not meanings
    with pytest.raises(DataError, match="there are 1 to 4900 invented words, not 0"):
        Glossary(words=0)
