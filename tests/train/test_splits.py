"""Every format of data with every task that learns from it, and the ways that one file is divided."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from regard.data import DataError, Labels
from regard.data.example import Value
from regard.recipes.load import check
from regard.recipes.sections import Recipe
from regard.recipes.system import systems
from regard.recipes.yaml_document import RecipeDocument
from regard.tasks.setup import prepare
from regard.tasks.splits import encode_split, examples
from regard.tasks.task import task_class

MODELS = {
    "translate": "{kind: bahdanau, hidden_dim: 4}",
    "language_model": "{kind: language_model, hidden_dim: 4}",
    "masked_language_model": "{kind: bert, encoder: {dim: 4, num_heads: 2}}",
    "classify": "{kind: acceptor}",
    "tag": "{kind: transducer}",
    "answer": "{kind: memory_network}",
    "bits": "{kind: ntm}",
    "recall": "{kind: memory_transformer, dim: 4, num_heads: 2}",
    "spans": "{kind: span_reader, encoder: {kind: rnn, hidden_dim: 4}}",
    "retrieve": "{kind: dual_encoder, encoder: {kind: rnn, hidden_dim: 4}}",
}
ROWS = 40
FORMATS = {name: tuple(system.formats) for name, system in systems().items()}


def recipe(task: str, data: str, tokenizer: str = "{kind: words}") -> Recipe:
    text = f"task: {task}\ndata: {data}\ntokenizer: {tokenizer}\nmodel: {MODELS[task]}\n"
    return check(RecipeDocument.parse(text + "train: {steps: 1, batch: {sentences: 4}}\n", "mine.yaml")).recipe


def needed_fields(task: str) -> list[str]:
    made = task_class(task)
    return [name for name in (made.context, made.question, made.answer) if name]


def fields(recipe: Recipe, name: str = "train") -> list[dict[str, Value]]:
    found = examples(recipe, name)  # type: ignore[arg-type]
    assert found is not None
    return [example.fields for example in found]


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def objects(*rows: dict[str, Any]) -> list[str]:
    return [json.dumps(row) for row in rows]


SAID = {"context": "Ada left", "qas": [{"question": "who?", "answers": [{"text": "Ada", "answer_start": 0}]}]}
SPAN: dict[str, Value] = {"context": "Ada left", "question": "who?", "answer": "Ada", "start": "0", "answers": ["Ada"]}


def written(folder: Path, form: str, task: str) -> str:
    """A file of a format, and the section that names it."""
    root = f"root: {folder}, "
    if form == "pairs":
        write(folder / "a.de", ["ein Haus"]), write(folder / "a.en", ["a house"])
        return f"{{format: pairs, {root}train: {{source: a.de, target: a.en}}, valid: {{source: a.de, target: a.en}}}}"
    if form == "folder":
        write(folder / "names/good.txt", ["a gem"] * ROWS)
        return f"{{format: folder, {root}train: names}}"
    lines = {
        "table": ["x\tgood\ta gem"],
        "squad": [json.dumps({"data": [{"paragraphs": [SAID]}]})],
        "spans": ["who?\tAda left\tAda"],
        "jsonl": objects({"t": ["a", "gem"] if task == "tag" else "a gem", "l": ["DT", "NN"] if task == "tag" else 1}),
        "cmudict": [";;; comment", "gem  JH EH1 M"],
        "text": ["", "a gem", ""],
        "labelled": ["a gem | good"],
        "columns": ["# text", "a x DT", "gem x NN", ""],
        "conllu": ["1\ta\ta\tDET\tDT\t_\t2\tdet\t_\t_", "2\tgem\tgem\tNOUN\tNN\t_\t0\troot\t_\t_", ""],
        "stories": ["1 Ada went home.", "2 Where is Ada?\thome\t1"],
    }[form]
    write(folder / "a", lines)
    more = {
        "table": "source: 2, target: 1",
        "jsonl": "source: t, target: l",
        "labelled": "label: last, separator: '|'",
        "columns": "target: -1, comment: '#'",
        "conllu": "target: xpos",
        "cmudict": "stress: true",
        "text": "blank: keep",
        "stories": "test: a",
        "squad": "window: 9, overlap: 2",
        "spans": "longest_answer: 2",
    }[form]
    if task == "recall":
        more = {"table": "source: [2, 0], target: 1", "jsonl": "source: [t, t], target: l"}[form]
    return f"{{format: {form}, {root}train: a, valid: a, {more}}}"


WANTED: dict[tuple[str, str], dict[str, Value]] = {
    ("translate", "pairs"): {"source": "ein Haus", "target": "a house"},
    ("translate", "table"): {"source": "a gem", "target": "good"},
    ("translate", "jsonl"): {"source": "a gem", "target": "1"},
    ("translate", "cmudict"): {"source": "gem", "target": "JH EH1 M"},
    ("language_model", "text"): {"text": ""},
    ("language_model", "table"): {"text": "a gem"},
    ("language_model", "jsonl"): {"text": "a gem"},
    ("masked_language_model", "text"): {"text": ""},
    ("masked_language_model", "table"): {"text": "a gem"},
    ("masked_language_model", "jsonl"): {"text": "a gem"},
    ("classify", "labelled"): {"text": "a gem", "label": "good"},
    ("classify", "folder"): {"text": "a gem", "label": "good"},
    ("classify", "table"): {"text": "a gem", "label": "good"},
    ("classify", "jsonl"): {"text": "a gem", "label": "1"},
    ("tag", "columns"): {"text": ["a", "gem"], "tags": ["DT", "NN"]},
    ("tag", "conllu"): {"text": ["a", "gem"], "tags": ["DT", "NN"]},
    ("tag", "jsonl"): {"text": ["a", "gem"], "tags": ["DT", "NN"]},
    ("answer", "stories"): {"story": ["Ada went home"], "question": "Where is Ada", "answer": "home"},
    ("recall", "table"): {"fact": "x", "source": "a gem", "target": "good"},
    ("recall", "jsonl"): {"fact": "a gem", "source": "a gem", "target": "1"},
    ("spans", "squad"): {**SPAN, "article": "article 1"},
    ("spans", "spans"): SPAN,
}
GENERATED = {
    ("translate", "dates"),
    ("translate", "digits"),
    ("masked_language_model", "opinions"),
    ("classify", "opinions"),
    ("answer", "world"),
    ("recall", "glossary"),
    ("spans", "diaries"),
    ("language_model", "tales"),
    ("classify", "endings"),
    ("classify", "reviews"),
}
GRAPHS = {("nodes", form) for form in FORMATS["nodes"]}
DRAWN = {("bits", form) for form in FORMATS["bits"]}
FROM_THE_HUB = {(task, "hub") for task, forms in FORMATS.items() if "hub" in forms}
TESTS_OF_SYSTEMS = "\n".join(
    path.read_text("utf-8") for path in sorted((Path(__file__).parents[1] / "systems").rglob("*.py"))
)


def test_every_format_of_every_task_is_read_below_or_by_the_tests_of_its_system() -> None:
    below = {*WANTED} | GENERATED | DRAWN | GRAPHS | FROM_THE_HUB
    others = {form for task, forms in FORMATS.items() for form in forms if (task, form) not in below}
    assert [form for form in sorted(others) if not re.search(rf"\b{form}", TESTS_OF_SYSTEMS, re.IGNORECASE)] == []
    assert below <= {(task, form) for task, forms in FORMATS.items() for form in forms}


@pytest.mark.parametrize(("task", "form"), WANTED, ids=["-".join(key) for key in WANTED])
def test_a_file_becomes_the_fields_of_the_task(task: str, form: str, tmp_path: Path) -> None:
    section = written(tmp_path, form, task).replace("train: names", "train: names, split: {by: order, valid: 0.5}")
    assert fields(recipe(task, section))[0] == WANTED[task, form]
    needed = needed_fields(task)
    assert [*WANTED[task, form]][: len(needed)] == needed


@pytest.mark.parametrize(("task", "form"), sorted(GENERATED))
def test_generated_data_has_three_splits(task: str, form: str) -> None:
    made = recipe(task, f"{{format: {form}, train_size: 9, valid_size: 5, test_size: 3}}")
    assert [len(fields(made, name)) for name in ("train", "valid", "test")] == [9, 5, 3]
    needed = needed_fields(task)
    assert [*fields(made)[0]][: len(needed)] == needed


@pytest.mark.parametrize(("task", "form"), sorted(DRAWN))
def test_drawn_data_has_no_end_and_no_ids(task: str, form: str, tmp_path: Path) -> None:
    made = recipe(task, f"{{format: {form}, valid_size: 5, test_size: 3}}")
    assert task_class("bits").learn_encoders(made, examples(made, "train"), {}) == {}  # type: ignore[arg-type]
    train, valid, test = (encode_split(made, name, {}, tmp_path) for name in ("train", "valid", "test"))
    assert train is not None
    assert valid is not None
    assert test is not None
    assert (len(valid), len(test)) == (5, 3)
    assert len(train) > 10**18
    assert train.encoded is None
    assert [*fields(made, "test")[0]] == ["source", "target"]


@pytest.mark.parametrize("task", sorted(task for task, _ in FROM_THE_HUB))
def test_the_hub_gives_the_fields_of_the_task(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"read": {"it": ["a", "gem"] if task == "tag" else "a gem"}, "said": ["DT", "NN"] if task == "tag" else 0}
    asked = []

    def load(name: str, config: str | None, *, split: str) -> list[dict[str, Any]]:
        asked.append((name, config, split))
        return [row]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    source = "[read.it, read.it]" if isinstance(systems()[task].two_texts, str) else "read.it"
    made = recipe(task, f"{{format: hub, name: mine, config: small, source: {source}, target: said, test: 'test[:9]'}}")
    said = {"translate": "0", "classify": "0", "recall": "0", "retrieve": "0", "tag": ["DT", "NN"]}
    answer = task_class(task).answer
    read = [name for name in needed_fields(task) if name != answer]
    wanted = dict.fromkeys(read, row["read"]["it"]) | ({} if answer is None else {answer: said[task]})  # type: ignore[index]
    assert [fields(made, name) for name in ("train", "valid", "test")] == [[wanted]] * 3
    assert sorted(set(asked)) == [("mine", "small", name) for name in ("test[:9]", "train", "validation")]


def names(recipe: Recipe, field: str = "text") -> list[list[Value]]:
    return [[row[field] for row in fields(recipe, name)] for name in ("train", "valid", "test")]


def test_one_file_is_divided_in_its_order(tmp_path: Path) -> None:
    lines = write(tmp_path / "a", [f"{number % 2} text {number}" for number in range(10)])
    made = recipe("classify", f"{{format: labelled, train: {lines}, split: {{by: order, valid: 0.2, test: 0.1}}}}")
    texts = [f"text {number}" for number in range(10)]
    assert names(made) == [texts[:7], texts[7:9], texts[9:]]
    three = recipe("classify", f"{{format: labelled, train: {lines}, valid: {lines}, test: {lines}}}")
    assert names(three) == [texts] * 3


def test_one_file_is_divided_by_what_is_read(tmp_path: Path) -> None:
    lines = write(tmp_path / "a", [f"{number % 2} text {number // 3}" for number in range(300)])
    section = f"{{format: labelled, train: {lines}, split: {{valid: 0.2, test: 0.2SALT}}}}"
    parts = names(recipe("classify", section.replace("SALT", "")))
    assert sum(map(len, parts)) == 300
    assert len(set().union(*parts)) == sum(len(set(part)) for part in parts) == 100
    assert names(recipe("classify", section.replace("SALT", ", salt: other"))) != parts
    write(tmp_path / "a", [f"0 text {number // 3}" for number in range(330)])
    more = names(recipe("classify", section.replace("SALT", "")))
    assert all(set(part) <= set(grown) for part, grown in zip(parts, more, strict=True))


def test_two_files_are_divided_together(tmp_path: Path) -> None:
    for name, words in (("source", "a{}"), ("target", "b{}")):
        (tmp_path / name).write_text("".join(words.format(number) + "\n" for number in range(50)))
    files = f"{{source: {tmp_path}/source, target: {tmp_path}/target}}"
    made = recipe("translate", f"{{format: pairs, train: {files}, split: {{valid: 0.2, test: 0.2}}}}")
    parts = [[one.fields for one in examples(made, name) or ()] for name in ("train", "valid", "test")]
    assert all(parts)
    found = [(str(one["source"]), str(one["target"])) for part in parts for one in part]
    assert sorted(found) == sorted((f"a{number}", f"b{number}") for number in range(50))


@pytest.mark.parametrize(("file", "between"), [("a.csv", ","), ("a.tsv", "\t"), ("a.txt", "\t")])
def test_the_name_of_a_table_says_what_stands_between_columns(file: str, between: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text(f"one{between}1\n")
    made = recipe("translate", f"{{format: table, train: {tmp_path / file}, valid: {tmp_path / file}}}")
    assert [one.fields for one in examples(made, "train") or ()] == [{"source": "one", "target": "1"}]


def test_one_file_is_divided_by_what_is_to_be_said(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.tsv", [f"text {number}\tlabel{number // 5}" for number in range(200)])
    made = recipe("classify", f"{{format: table, train: {lines}, split: {{by: target, valid: 0.3, test: 0.2}}}}")
    parts = names(made, "label")
    assert len(set().union(*parts)) == sum(len(set(part)) for part in parts) == 40


def test_tagged_sentences_are_divided_and_tested_on_a_file(tmp_path: Path) -> None:
    blocks = [f"w{number} A\nx B\n" for number in range(60)]
    packed = tmp_path / "train.txt.gz"
    packed.write_bytes(gzip.compress("\n".join(blocks).encode()))
    write(tmp_path / "test.txt", ["w0 A", "", "new B"])
    section = f"{{format: columns, root: {tmp_path}, train: train.txt.gz, test: test.txt, split: {{valid: 0.2}}}}"
    train, valid, test = names(recipe("tag", section))
    assert sorted(map(str, train + valid)) == sorted(str([f"w{number}", "x"]) for number in range(60))
    assert 3 < len(valid) < 30
    assert test == [["w0"], ["new"]]
    in_order = names(recipe("tag", section.replace("{valid: 0.2}", "{by: order, valid: 0.1}")))
    assert in_order[1] == [[f"w{number}", "x"] for number in range(54, 60)]


def test_a_split_that_is_not_named_is_none(tmp_path: Path) -> None:
    lines = write(tmp_path / "a", ["1 gem", "0 bore"])
    section = f"{{format: labelled, train: {lines}, split: {{by: order, valid: 0.5}}}}"
    assert examples(recipe("classify", section), "test") is None


def test_encoders_of_a_task_are_learned_from_train_alone(tmp_path: Path) -> None:
    write(tmp_path / "train", ["good a gem", "bad far too long"]), write(tmp_path / "valid", ["good unheard of"])
    made = recipe("classify", f"{{format: labelled, root: {tmp_path}, train: train, valid: valid}}")
    setup = prepare(made, tmp_path / "cache")
    labels, words = setup.task.encoders["label"], setup.task.encoders["text"]
    assert isinstance(labels, Labels)
    assert labels.names == ("bad", "good")
    assert words.size == 4 + 5
    assert setup.task.sizes == (9, 2)
    assert setup.valid.corpus[0]["text"].tolist() == [1, 1]
    assert setup.valid.texts("label") == ["good"]
    assert setup.test is None


def test_words_and_phonemes_have_a_tokenizer_each(tmp_path: Path) -> None:
    path = write(tmp_path / "a", ["gem JH EH1 M", "ben B EH1 N"])
    section = f"{{format: cmudict, train: {path}, valid: {path}}}"
    made = recipe("translate", section, "{kind: characters, target: {kind: words}}")
    found = examples(made, "train")
    assert found is not None
    encoders = task_class(made.task).learn_encoders(made, found, {})
    assert [len(encoders[name].encode(text)) for name, text in (("source", "gem"), ("target", "JH EH M"))] == [3, 3]
    split = encode_split(made, "valid", encoders, tmp_path / "cache")
    assert split is not None
    assert split.texts("target") == ["JH EH M", "B EH N"]


@pytest.mark.parametrize(
    ("task", "form", "lines", "sentence"),
    [
        ("classify", "jsonl", objects({"source": "a", "target": "x"}, {"source": "a", "target": ["x", "y"]}),
         ":2: the label is a list, ['x', 'y']; a text has one"),
        ("classify", "labelled", ["good"], ":1: the line has a label or a text, not both (the label comes first)"),
        ("tag", "jsonl", objects({"source": ["New York", "is"], "target": ["NNP", "VBZ"]}),
         ":1: the word 'New York' is empty or has white space in it"),
        ("tag", "jsonl", objects({"source": ["He", "is"], "target": ["PRP", ""]}),
         ":1: the tag '' is empty or has white space in it"),
        ("tag", "jsonl", objects({"source": ["He", "is"], "target": ["PRP"]}),
         ":1: there are 2 words and 1 tags; each word needs one"),
        ("tag", "jsonl", objects({"source": "He is", "target": "PRP VBZ"}),
         ":1: words and tags must be two lists, a tag for each word"),
        ("tag", "columns", ["He PRP", "is"], ":2: the line has 1 columns, none at 1 for tags"),
    ],
)  # fmt: skip
def test_lines_that_are_no_example_are_named(
    task: str, form: str, lines: list[str], sentence: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a", lines)
    with pytest.raises(DataError) as caught:
        fields(recipe(task, f"{{format: {form}, train: {path}, valid: {path}}}"))
    assert f"{path}{sentence}" in str(caught.value)


def test_lines_that_are_no_example_can_be_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a", objects({"source": "a", "target": ["x"]}, {"source": "b", "target": "good"}))
    made = recipe("classify", f"{{format: jsonl, train: {path}, valid: {path}, bad_lines: skip}}")
    assert fields(made) == [{"text": "b", "label": "good"}]


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_label_that_training_did_not_have_is_named_by_line(task: str, tmp_path: Path) -> None:
    form = {"classify": "labelled", "tag": "columns"}[task]
    lines = {"classify": ["good a gem", "bad far too long"], "tag": ["a good", "", "gem bad"]}[task]
    write(tmp_path / "train", lines)
    write(tmp_path / "valid", [*lines, "", {"classify": "god a bore", "tag": "bore god"}[task]])
    made = recipe(task, f"{{format: {form}, root: {tmp_path}, train: train, valid: valid}}")
    line = len(lines) + 2
    sentence = rf"valid:{line}: the label 'god' does not occur in the training data; did you mean 'good'\?"
    with pytest.raises(DataError, match=sentence):
        prepare(made, tmp_path / "cache")


def test_a_test_split_without_one_known_label_says_so(tmp_path: Path) -> None:
    write(tmp_path / "train", ["good a gem", "bad far too long"])
    write(tmp_path / "test", ["1 a gem", "0 far too long"])
    made = recipe("classify", f"{{format: labelled, root: {tmp_path}, train: train, valid: train, test: test}}")
    with pytest.raises(DataError, match="no label of the split test occurs in the training data"):
        prepare(made, tmp_path / "cache")


def test_a_folder_without_texts_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no .txt files in it, whose names would be the labels"):
        fields(recipe("classify", f"{{format: folder, train: {tmp_path}}}"))
    with pytest.raises(DataError, match=r"nowhere: there is no such folder"):
        fields(recipe("classify", f"{{format: folder, root: {tmp_path}, train: nowhere}}"))


def test_a_folder_of_its_own_to_test_on(tmp_path: Path) -> None:
    for part, text in (("train", "a gem"), ("test", "a bore")):
        write(tmp_path / part / "good/1.txt", [text])
    given = recipe("classify", f"{{format: folder, root: {tmp_path}, train: train, test: test}}")
    found = examples(given, "test")
    assert found is not None
    assert [example.fields for example in found] == [{"text": "a bore", "label": "good"}]
