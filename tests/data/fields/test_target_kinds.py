"""Several labels per text and numbers: read from every format, encoded, kept, and named where they are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.data import (
    Collator,
    Corpus,
    DataError,
    Jsonl,
    LabelledLines,
    Labels,
    LabelSets,
    Numbers,
    Table,
    Tokenizer,
    TokensField,
)
from regard.data.example import DataReader
from regard.data.fields.target_kinds import OneLabel, OneNumber, SeveralLabels
from regard.specials import IGNORE

FIELDS = {"text": "text", "label": "label"}


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def labels(reader: DataReader) -> list[object]:
    return [example.fields["label"] for example in reader]


def test_several_labels_are_read_from_every_format(tmp_path: Path) -> None:
    several = SeveralLabels(";")
    rows = [["b", "a b", ""], "a gem", "a bore", "a text"]
    wanted = [["a b", "b"], ["b"], []]
    table = written(tmp_path, "a.csv", "text,label\na gem,b; a  b;b;\na bore,b\na text,\n")
    assert labels(Table(table, FIELDS, header=True, target_kind=several)) == wanted
    lined = written(tmp_path, "a.txt", "a b;b\ta gem\nb\ta bore\n\ta text\n")
    assert labels(LabelledLines(lined, separator="\t", target_kind=several)) == wanted
    listed = [(rows[1], ["b", "a b", "b"]), (rows[2], "b"), (rows[3], [])]
    lines = "\n".join(json.dumps({"text": text, "label": label}) for text, label in listed)
    assert labels(Jsonl(written(tmp_path, "a.jsonl", lines), FIELDS, target_kind=several)) == wanted


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (OneLabel(), ["a", "b"], "data.target_kind"),
        (SeveralLabels(","), ["a,b"], "data.label_separator"),
        (OneNumber(), "3,5", "write 3.5"),
        (OneNumber(), "1,000.5", "'1,000.5'"),
        (OneNumber(), "warm", "'warm'"),
        (OneNumber(), "nan", "'nan'"),
        (OneNumber(), "-inf", "'-inf'"),
        (OneNumber(), "1e999", "'1e999'"),
    ],
)
def test_a_wrong_target_names_its_line(kind: OneLabel, value: object, said: str, tmp_path: Path) -> None:
    good = {"text": "a", "label": {OneNumber: "1"}.get(type(kind), "a")}
    path = written(tmp_path, "a.jsonl", f"{json.dumps(good)}\n{json.dumps({'text': 'b', 'label': value})}\n")
    with pytest.raises(DataError) as problem:
        labels(Jsonl(path, FIELDS, target_kind=kind))
    assert str(problem.value).startswith(f"{path}:2: ")
    assert said in str(problem.value)
    reader = Jsonl(path, FIELDS, target_kind=kind, bad_lines="skip")
    assert len(labels(reader)) == reader.skipped.count == 1


def test_a_blank_is_no_number_and_no_label(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tsv", "a gem\t\n")
    for kind in (OneLabel(), OneNumber()):
        with pytest.raises(DataError, match="column of label is blank"):
            labels(Table(path, {"text": 0, "label": 1}, target_kind=kind))


def test_caches_of_one_label_keep_their_names_and_others_have_their_own(tmp_path: Path) -> None:
    path = written(tmp_path, "a.tsv", "a\tb\n")
    settings = [Table(path, target_kind=kind).settings() for kind in (OneLabel(), SeveralLabels(), OneNumber())]
    assert settings[0] == Table(path).settings()
    assert "OneLabel" not in settings[0]
    assert len(set(settings)) == 3
    assert SeveralLabels(";") != SeveralLabels(",")


def test_numbers_are_standardised_and_come_back() -> None:
    numbers = Numbers.train(["1", "2", "6"])
    assert (numbers.mean, numbers.deviation) == (3.0, pytest.approx(np.sqrt(14 / 3)))
    rows = numbers.encode_all(["1", "2", "6"])
    assert np.mean(rows) == pytest.approx(0)
    assert np.std(rows) == pytest.approx(1)
    assert numbers.decode([row[0] for row in rows]) == ["1", "2", "6"]
    large = Numbers.train(["1000000.25", "1000000.75"])
    assert large.encode("1000000.25") == [-1.0]


@pytest.mark.parametrize("values", [["3", "3.0"], ["0", "0"], ["0.1"] * 7, ["1e300", "-1e300"], []])
def test_numbers_from_which_nothing_can_be_learned_are_refused(values: list[str]) -> None:
    with pytest.raises(DataError):
        Numbers.train(values)


@pytest.mark.parametrize("encoder", [Numbers(2.5, 0.5), LabelSets(("a", "b"), threshold=0.3), LabelSets(("a",))])
def test_an_encoder_is_kept_whole(encoder: Numbers | LabelSets, tmp_path: Path) -> None:
    encoder.save(tmp_path / "kept")
    found = type(encoder).load(tmp_path / "kept")
    assert found == encoder
    assert getattr(found, "threshold", None) == getattr(encoder, "threshold", None)


@pytest.mark.parametrize("content", ["", "[]", "3", "null", '{"labels": 3}', '{"labels": ["a"], "threshold": "x"}',
                                     '{"mean": 1}', '{"mean": "x", "deviation": 1}', '{"mean": 1, "deviation": 0}',
                                     "[" * 100_000])  # fmt: skip
@pytest.mark.parametrize("kind", [Numbers, LabelSets])
def test_a_damaged_encoder_is_one_sentence(kind: type[Numbers | LabelSets], content: str, tmp_path: Path) -> None:
    path = written(tmp_path, "kept.json", content)
    with pytest.raises(DataError, match=r"kept\.json"):
        kind.load(path)


def test_sets_of_labels_and_labels_are_not_one_encoder() -> None:
    assert LabelSets(("a", "b")) != Labels(("a", "b"))
    assert LabelSets(("a", "b"), threshold=0.3) == LabelSets(("a", "b"))  # a threshold decides no ids


def test_sets_and_numbers_in_a_batch(tmp_path: Path) -> None:
    lines = [("a", ["x", "y"], 1), ("b c", [], 2), ("c", ["y"], 6)]
    path = written(tmp_path, "a.jsonl", "\n".join(json.dumps({"t": t, "s": s, "n": n}) for t, s, n in lines))
    words = Tokenizer.train(["a", "b c"], kind="words")

    def corpus(key: str, kind: SeveralLabels | OneNumber) -> Corpus:
        reader = Jsonl(path, {"text": "t", "label": key}, target_kind=kind)
        label = kind.field()
        encoder = label.learn(example.fields["label"] for example in reader)
        fields = {"text": TokensField(words), "label": label.with_encoder(encoder)}
        found = Corpus.build(reader, fields, tmp_path / "cache")
        return Corpus(found.folder, fields)  # as it is read again

    sets = corpus("s", SeveralLabels())
    assert sets.counts("label").tolist() == [1, 1, 1]
    batch = Collator(sets, counted="label")([0, 1, 2])
    assert batch["label"].tolist() == [[0, 1], [IGNORE, IGNORE], [1, IGNORE]]
    assert batch.tokens == 3
    none = Collator(sets, counted="label")([1])
    assert (none["label"].shape, none.tokens) == ((1, 0), 1)
    numbers = corpus("n", OneNumber())
    batch = Collator(numbers, counted="label")([2, 0])
    assert batch["label"].dtype == torch.float32
    assert batch["label"].tolist() == pytest.approx([3 / np.sqrt(14 / 3), -2 / np.sqrt(14 / 3)])
    assert batch.tokens == 2
