"""Damaged data files of every format: each is read, or refused in one sentence, within seconds."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from regard.data import (
    Cmudict,
    Columns,
    Conllu,
    DataError,
    DataReader,
    Jsonl,
    LabelledLines,
    Pairs,
    SpanTable,
    Squad,
    Stories,
    Table,
    Text,
    Tokenizer,
)
from regard.systems.nodes.graphs import GraphTables, Planetoid
from regard.systems.translation.dictionary import read_dictionary
from regard.tasks.output_set import output_set
from tests.system.mutation import damaged, is_sentence, json_text, reshaped, within

SECONDS = 20.0
SMALL = 20_000  # bytes of a line, so that the limit is met
PASSAGE = "Ada came, and Carl left."
ASKED = {"id": "7", "question": "who left?", "answers": [{"text": "Carl", "answer_start": 14}]}
SQUAD = {"data": [{"title": "t", "paragraphs": [{"context": PASSAGE, "qas": [ASKED, ASKED]}]}]}
OBJECT = {"source": ["a", "gem"], "target": ["DT", "NN"], "n": 1}
REST = "\t_" * 6 + "\n"
UD = f"# text = im\n1-2\tim\t_\t_{REST}1\tin\tin\tADP{REST}2\tdem\tder\tDET{REST}\n"
ROW = json.dumps({"question": "who?", "context": PASSAGE, "answer": ["Carl"]})
STORY = b"1 Ada ran home.\n2 Where is Ada?\thome\t1\n1 Bob left.\n2 Where?\tout\n"
TABLE = 'source,target\n"a, gem",good\n"so ""so""\nlong",bad\nplain,good\n'


def npz() -> bytes:
    """A graph of three nodes."""
    file = io.BytesIO()
    arrays = {"feat_indptr": [0, 1, 2, 3], "feat_indices": [0, 1, 0], "feat_data": [1.0, 0.5, 2.0], "shape": [3, 2]}
    arrays |= {"labels": [0, 1, 0], "edges": [[0, 1], [1, 2]], "train_idx": [0], "val_idx": [1], "test_idx": [2]}
    np.savez(file, **{name: np.array(values) for name, values in arrays.items()})
    return file.getvalue()


def graph(path: Path, *, bad_lines: Any) -> object:
    (path.parent / "edges").write_text("ada\tbob\n")
    return GraphTables(path, path.parent / "edges", by="order", bad_lines=bad_lines).read()


def edges(path: Path, *, bad_lines: Any) -> object:
    (path.parent / "nodes").write_text("ada\tx\t1\nbob\ty\t2\neve\tx\t3\n")
    return GraphTables(path.parent / "nodes", path, by="order", bad_lines=bad_lines).read()


def pairs(path: Path, *, bad_lines: Any) -> object:
    (path.parent / "other").write_text("ein Haus\nzwei\n")
    return list(Pairs(path, path.parent / "other", bad_lines=bad_lines, max_line=SMALL))


def words(path: Path, *, bad_lines: Any) -> object:
    return output_set(path, Tokenizer.train(["yes no maybe"], kind="words"))


def read(kind: type[DataReader], path: Path, *, bad_lines: Any, **options: Any) -> object:
    return list(kind(path, bad_lines=bad_lines, max_line=SMALL, **options))  # type: ignore[call-arg]


FORMATS: dict[str, tuple[str, bytes, Callable[..., object]]] = {
    "pairs": ("a", b"a house\ntwo\n", pairs),
    "tsv": ("a.tsv", b"a gem\tgood\nso so\tbad\n", partial(read, Table)),
    "csv": ("a.csv", TABLE.encode(), partial(read, Table, columns={"source": "source", "target": 1}, header=True)),
    "jsonl": ("a.jsonl", (json.dumps(OBJECT) + "\n").encode() * 3, partial(read, Jsonl)),
    "text": ("a.txt", "It was\n\nthe lark größer\r\n".encode(), partial(read, Text)),
    "labelled": ("a.txt", b"1 a gem\n0 far too long\n", partial(read, LabelledLines)),
    "columns": ("a.txt", b"He PRP\nis VBZ\n\nSo IN\n", partial(read, Columns)),
    "conllu": ("a.conllu", UD.encode() * 2, partial(read, Conllu)),
    "cmudict": ("a.dict", b"gem JH EH1 M\ngem(2) JH EH1 M # no\n", partial(read, Cmudict)),
    "squad": ("a.json", json.dumps(SQUAD).encode(), partial(read, Squad)),
    "spans": ("a.tsv", f"who left?\t{PASSAGE}\tCarl\t14\n".encode() * 2, partial(read, SpanTable)),
    "spans of json": ("a.jsonl", ROW.encode(), partial(read, SpanTable)),
    "stories": ("a.txt", STORY, partial(read, Stories)),
    "nodes": ("nodes.tsv", b"ada\tx\t0.5\t1\nbob\ty\t0\t2\neve\t\t1\t1\n", graph),
    "edges": ("edges.tsv", b"ada\tbob\nbob\teve\n", edges),
    "planetoid": ("a.npz", npz(), lambda path, bad_lines: Planetoid(path).read()),
    "dictionary": ("a.tsv", b"Haus\thouse\nHund\tdog\n", lambda path, bad_lines: read_dictionary(path)),
    "only": ("a.txt", b"yes\nno\n", words),
}  # fmt: skip


def outcome(make: Callable[[], object]) -> str:
    """Return "good" or "refused", or a message that is no sentence."""
    try:
        with within(SECONDS):
            make()
    except DataError as problem:
        return "refused" if is_sentence(str(problem)) else str(problem)
    return "good"


def fuzz(form: str, folder: Path, seeds: range) -> None:
    """Damage a file once with each seed, as it lies there or packed."""
    name, good, reading = FORMATS[form]
    assert outcome(lambda: reading(write(folder / name, good), bad_lines="refuse")) == "good"
    found = set()
    for seed in seeds:
        random = Random(seed)
        packed = form not in ("planetoid",) and random.random() < 0.2
        raw = structured(random, good) if form in ("squad", "jsonl", "spans of json") else damaged(random, good)
        if packed:
            raw = gzip.compress(raw) if random.random() < 0.5 else damaged(random, gzip.compress(raw))
        path = write(folder / (f"{name}.gz" if packed else name), raw)
        for bad_lines in ("refuse", "skip"):
            try:
                found.add(outcome(lambda path=path, how=bad_lines: reading(path, bad_lines=how)))  # type: ignore[misc]
            except Exception as problem:
                raise AssertionError(f"{form}, seed {seed}: {problem!r:.500}") from problem
    assert found <= {"good", "refused"}
    assert "refused" in found


def structured(random: Random, good: bytes) -> bytes:
    """JSON of another shape, or damaged bytes."""
    if random.random() < 0.4:
        return damaged(random, good)
    return "\n".join(json_text(reshaped(random, json.loads(line))) for line in good.splitlines()).encode()


def write(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_file_is_read_or_refused(form: str, tmp_path: Path) -> None:
    fuzz(form, tmp_path, range(60))


@pytest.mark.long
@pytest.mark.parametrize("form", FORMATS)
def test_many_damaged_files_are_read_or_refused(form: str, tmp_path: Path) -> None:
    fuzz(form, tmp_path, range(100, 3_100))
