"""What a model is asked, from files of all formats: texts, their places, and lines that cannot be read."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from regard.data import DataError, Labels, Tokenizer
from regard.data.problems import TextError
from regard.recipes.errors import RecipeError
from regard.recipes.file_data import FileLayout
from regard.recipes.schema import recipe_class
from regard.recipes.sections import Recipe
from regard.recipes.system import systems
from regard.systems.answering.task import Answering
from regard.systems.classification.task import Classification
from regard.systems.spans.task import SpanAnswering
from regard.systems.tagging.task import Tagging
from regard.tasks.inputs import Input, answered, file_inputs
from regard.tasks.task import Task

WORDS = Tokenizer.train(["a b c"], kind="words")
LABELS = Labels(("bad", "good"))
CLASSIFY = Classification({"text": WORDS, "label": LABELS})
PAIRS = Classification({"text": WORDS, "label": LABELS}, pairs=True)
TAG = Tagging({"text": WORDS, "tags": LABELS})
SPANS = SpanAnswering({"question": WORDS, "context": WORDS})
STORY = Answering({"story": WORDS, "question": WORDS, "answer": WORDS})


def recipe(task: str, **data: Any) -> Recipe:
    """A recipe of which only the task and the data count here."""
    encoder = {"kind": "bert"} if isinstance(data.get("source"), list) else {}
    models = {
        "classify": {"kind": "acceptor", **({"encoder": encoder} if encoder else {})},
        "tag": {"kind": "transducer"},
        "spans": {"kind": "span_reader"},
        "answer": {"kind": "memory_network"},
    }
    content = {"task": task, "data": data, "model": models[task], "train": {"steps": 1}}
    return recipe_class(systems()[task]).model_validate(content)


TABLE = recipe("classify", format="table", train="t.csv", valid="t.csv", header=True, source="body", target="spam")
LINES = recipe("classify", format="labelled", train="t.txt", valid="t.txt")
TWO = recipe("classify", format="table", train="t.tsv", valid="t.tsv", source=[1, 2], target=0)
CONLL = recipe("tag", format="columns", train="t.txt", valid="t.txt", source=1, target=2)
ASKED = recipe("spans", format="spans", train="t.tsv", valid="t.tsv")
TOLD = recipe("answer", format="stories", train="t.txt", valid="t.txt")


def put(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def asked(of: Recipe, task: Task, path: Path, *source: str, **layout: Any) -> list[tuple[str, int | None]]:
    found = list(file_inputs(of, task, path, FileLayout(source=source, **layout)))
    assert all(one.problem is None for one in found)
    return [(one.text, one.line) for one in found]


def test_columns_of_the_recipe_by_the_name_of_the_file(tmp_path: Path) -> None:
    text = 'id,body\n1,"Hi, you\nthere"\n2,\n3,bye\n'
    for name in ("a.csv", "a.csv.gz"):
        assert asked(TABLE, CLASSIFY, put(tmp_path / name, text)) == [("Hi, you\nthere", 2), ("", 4), ("bye", 5)]
    lines = put(tmp_path / "a.txt", "Hi\n\nbye\n")
    assert asked(TABLE, CLASSIFY, lines) == asked(LINES, CLASSIFY, lines) == [("Hi", 1), ("", 2), ("bye", 3)]
    assert asked(LINES, CLASSIFY, tmp_path / "a.csv")[0] == ("id,body", 1)
    assert asked(TABLE, CLASSIFY, tmp_path / "a.csv", format="lines")[0] == ("id,body", 1)
    assert asked(LINES, CLASSIFY, put(tmp_path / "b.txt", "good Hi\n"), format="labelled") == [("Hi", 1)]


def test_columns_that_the_command_line_names(tmp_path: Path) -> None:
    table = put(tmp_path / "a.tsv", "text\tmore\nHi\tyou\n")
    assert asked(LINES, CLASSIFY, table, "more") == [("you", 2)]
    assert asked(LINES, CLASSIFY, table, "1") == [("more", 1), ("you", 2)]
    assert asked(LINES, CLASSIFY, table, "0", header=True) == [("Hi", 2)]
    assert asked(TABLE, CLASSIFY, table, "0", header=False) == [("text", 1), ("Hi", 2)]
    objects = put(tmp_path / "a.jsonl", '{"text": "Hi", "body": "you"}\n\n{"text": "", "body": 3}\n')
    assert asked(TABLE, CLASSIFY, objects, format="jsonl") == [("you", 1), ("3", 3)]
    assert asked(LINES, CLASSIFY, objects, format="jsonl") == [("Hi", 1), ("", 3)]
    assert asked(LINES, CLASSIFY, objects, "body") == [("you", 1), ("3", 3)]
    latin = tmp_path / "b.txt"
    latin.write_bytes("Café\n".encode("cp1252"))
    assert asked(LINES, CLASSIFY, latin, encoding="cp1252") == [("Café", 1)]


def test_two_texts_are_two_columns(tmp_path: Path) -> None:
    table = put(tmp_path / "a.tsv", "yes\ta man\ta dog\nno\tb\tc\n")
    assert asked(TWO, PAIRS, table) == [("a man\ta dog", 1), ("b\tc", 2)]
    assert asked(TWO, PAIRS, table, "2", "1") == [("a dog\ta man", 1), ("c\tb", 2)]
    assert asked(TWO, PAIRS, put(tmp_path / "a.txt", "a\tb\n")) == [("a\tb", 1)]
    objects = put(tmp_path / "a.jsonl", json.dumps({"q": "who?", "p": "Ada\tleft."}))
    assert asked(ASKED, SPANS, objects, "q", "p", format="jsonl") == [("who?\tAda left.", 1)]
    told = put(tmp_path / "b.jsonl", json.dumps({"s": "Ada left. Bob ran.", "q": "who?"}))
    assert asked(TOLD, STORY, told, "s", "q") == [("Ada left\tBob ran\twho?", 1)]
    listed = put(tmp_path / "c.jsonl", json.dumps({"story": ["Ada left", "Bob ran"], "question": "who?"}))
    assert asked(TOLD, STORY, listed, format="jsonl") == [("Ada left\tBob ran\twho?", 1)]


def test_questions_without_answers(tmp_path: Path) -> None:
    assert asked(ASKED, SPANS, put(tmp_path / "a.tsv", "who?\tAda left.\n")) == [("who?\tAda left.", 1)]
    stories = put(tmp_path / "a.txt", "1 Ada left.\n2 Who left?\t\n")
    assert asked(TOLD, STORY, stories, format="stories") == [("Ada left\tWho left", 2)]
    words = put(tmp_path / "b.txt", "1 He\n2 ran\n\n1 So\n")
    assert asked(CONLL, TAG, words, format="columns") == [("He ran", 1), ("So", 4)]
    assert asked(CONLL, TAG, put(tmp_path / "a.conll", "1 He\n")) == [("He", 1)]
    sentences = put(tmp_path / "c.tsv", "1\tHe ran\n")
    assert asked(CONLL, TAG, sentences, "1", format="table") == [("He ran", 1)]


def test_a_bad_line_keeps_its_place(tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", '{"text": "Hi"}\nnot\n{"text": ["a"], "b": 1}\n{"txt": 1}\n')
    found = list(file_inputs(LINES, CLASSIFY, path, FileLayout(format="jsonl")))
    assert [(one.text, one.where) for one in found] == [
        ("Hi", f"{path}:1"), ("", f"{path}:2"), ("a", f"{path}:3"), ("", f"{path}:4"),
    ]  # fmt: skip
    assert "not JSON" in str(found[1].problem)
    assert "no key 'text' among txt" in str(found[3].problem)


@pytest.mark.parametrize(
    ("of", "task", "layout", "sentence"),
    [
        (LINES, CLASSIFY, FileLayout(format="cvs"), "--format is 'cvs'; it can be lines, table, jsonl, labelled"),
        (LINES, CLASSIFY, FileLayout(format="columns"), "--format is 'columns'"),
        (LINES, CLASSIFY, FileLayout(source=("a",)), r"a\.txt: --source and --header are of columns"),
        (TABLE, CLASSIFY, FileLayout(format="table", source=("a", "b")), "--source names 2; the model reads 1 column"),
        (ASKED, SPANS, FileLayout(format="table", source=("0",)), "the model reads 2 columns, question and context"),
        (TABLE, CLASSIFY, FileLayout(format="table", header=False), "'body' is named"),
        (TABLE, CLASSIFY, FileLayout(format="table"), "there is no column 'body'; its header has Hi"),
        (LINES, CLASSIFY, FileLayout(encoding="utf-9"), "no encoding 'utf-9'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(
    of: Recipe, task: Task, layout: FileLayout, sentence: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "a.txt", "Hi\n")
    with pytest.raises((RecipeError, DataError), match=sentence):
        list(file_inputs(of, task, path, layout))


def test_the_others_are_answered_beside_a_text_that_cannot_be_asked() -> None:
    calls: list[int] = []

    def answer(texts: Sequence[str]) -> list[str]:
        calls.append(len(texts))
        for text in texts:
            if "!" in text:
                raise TextError(f"{text!r} is loud")
        return [text.upper() for text in texts]

    inputs = [Input(f"t{number}{'!' * (number in (3, 17))}", f"f:{number}") for number in range(20)]
    inputs[5] = Input("", "f:5", "broken")
    found = list(answered(inputs, answer))
    assert [one.where for one, _ in found] == [f"f:{number}" for number in range(20)]
    assert {number for number, (_, said) in enumerate(found) if said is None} == {3, 5, 17}
    assert (found[3][0].problem, found[5][0].problem) == ("'t3!' is loud", "broken")
    assert found[19][1] == "T19"
    assert max(calls) == 19
    with pytest.raises(ValueError, match="of all"):  # what is wrong with every text is no problem of one
        list(answered(inputs, lambda texts: (_ for _ in ()).throw(ValueError("of all"))))
