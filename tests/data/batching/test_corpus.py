"""The cache of ids: right, keyed by content, never half."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regard.checksum import write_checksum
from regard.data import (
    Columns,
    Corpus,
    DataError,
    Field,
    Jsonl,
    LabelField,
    LabelledLines,
    Labels,
    Pairs,
    TagsField,
    Text,
    Tokenizer,
    TokensField,
)
from regard.data.batching.encoding import CHUNK
from regard.data.fields.column import Column
from regard.data.fields.graph import GraphField
from regard.data.fields.numbers import NumberField
from regard.data.fields.record import NamedTexts, RecordField
from regard.systems.translation.digits import Digits

WORDS = Tokenizer.train(["0 1 2 3 4 5 6 7 8 9 a b c"], kind="words")
FIELDS = {"source": TokensField(WORDS), "target": TokensField(WORDS)}


def folders(cache: Path) -> set[str]:
    return {path.name for path in cache.iterdir()}


@pytest.fixture
def pairs(tmp_path: Path) -> Pairs:
    (tmp_path / "a.src").write_text("1 2 3\n4\n5 6\n")
    (tmp_path / "a.tgt").write_text("a\nb c\na a a a\n")
    return Pairs(tmp_path / "a.src", tmp_path / "a.tgt")


def test_examples_come_back_by_number(pairs: Pairs, tmp_path: Path) -> None:
    corpus = Corpus.build(pairs, FIELDS, tmp_path / "cache")
    assert len(corpus) == 3
    for index, example in enumerate(pairs):
        assert {name: WORDS.decode(ids) for name, ids in corpus[index].items()} == example.fields
    assert (corpus[-1]["source"] == corpus[2]["source"]).all()
    assert corpus.lengths("source").tolist() == [3, 1, 2]
    assert corpus.lengths("target").tolist() == [1, 2, 4]
    assert corpus.ids("source").dtype == np.int32
    assert corpus.offsets("source").tolist() == [0, 3, 4, 6]
    assert isinstance(corpus.ids("source"), np.memmap)
    with pytest.raises(IndexError):
        corpus[3]
    with pytest.raises(DataError, match="no field 'text'; it has source, target"):
        corpus.lengths("text")


def test_it_is_built_once(pairs: Pairs, tmp_path: Path) -> None:
    counts: list[int] = []
    for _ in range(2):
        Corpus.build(pairs, FIELDS, tmp_path / "cache", progress=counts.append)
    assert counts == [3]
    assert len(folders(tmp_path / "cache")) == 1


def test_the_key_is_content(pairs: Pairs, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    Corpus.build(pairs, FIELDS, cache)
    stamp = Path(pairs.source).stat()
    Path(pairs.source).write_text("1 2 3\n4\n5 7\n")  # one byte, and the same size and date
    os.utime(pairs.source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert WORDS.decode(Corpus.build(pairs, FIELDS, cache)[2]["source"]) == "5 7"
    assert len(folders(cache)) == 2
    other = Tokenizer.train(["a b c"], kind="words")
    Corpus.build(pairs, {"source": TokensField(WORDS), "target": TokensField(other)}, cache)
    Corpus.build(Pairs(pairs.target, pairs.source), FIELDS, cache)
    Corpus.build(Pairs(pairs.source, pairs.target, bad_lines="skip"), FIELDS, cache)
    assert len(folders(cache)) == 5
    moved = tmp_path / "elsewhere"
    Path(pairs.source).rename(moved)
    Corpus.build(Pairs(moved, pairs.target), FIELDS, cache)  # the same content under another name
    assert len(folders(cache)) == 5


def test_what_is_unpacked_is_not_what_is_read_as_it_is(tmp_path: Path) -> None:
    packed, copied = tmp_path / "texts.gz", tmp_path / "texts.bin"
    packed.write_bytes(gzip.compress(b"1 2\n3\n"))
    copied.write_bytes(packed.read_bytes())
    corpora = [
        Corpus.build(Text(path, encoding="latin-1"), {"text": TokensField(WORDS)}, tmp_path / "cache")
        for path in (packed, copied)
    ]
    assert len({corpus.folder for corpus in corpora}) == 2


def test_skipped_lines_are_told_from_the_cache_too(pairs: Pairs, tmp_path: Path) -> None:
    Path(pairs.source).write_text("1 2 3\n\n5 6\n")
    for _ in range(2):
        corpus = Corpus.build(Pairs(pairs.source, pairs.target, bad_lines="skip"), FIELDS, tmp_path / "cache")
        assert (len(corpus), corpus.skipped.count) == (2, 1)
        assert "a.src:2: the line is blank" in str(corpus.skipped)


def test_a_refused_line_leaves_no_cache(pairs: Pairs, tmp_path: Path) -> None:
    Path(pairs.source).write_text("1 2 3\n\n5 6\n")
    with pytest.raises(DataError, match=r"a\.src:2"):
        Corpus.build(pairs, FIELDS, tmp_path / "cache")
    assert folders(tmp_path / "cache") == set()


@pytest.mark.parametrize("damage", ["short", "missing", "no description"])
def test_a_damaged_cache_is_built_again(pairs: Pairs, tmp_path: Path, damage: str) -> None:
    folder = Corpus.build(pairs, FIELDS, tmp_path / "cache").folder
    if damage == "short":
        (folder / "source.ids").write_bytes(b"\0\0\0\0")
    else:
        (folder / ("target.ids.offsets" if damage == "missing" else "corpus.json")).unlink()
    assert Corpus.build(pairs, FIELDS, tmp_path / "cache").lengths("source").tolist() == [3, 1, 2]


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize(
    ("file", "dtype", "value"),
    [
        ("source.ids", "int32", WORDS.size),
        ("target.ids", "int32", -1),
        ("source.ids.offsets", "int64", 7),
        ("target.ids.offsets", "int64", -1),
    ],
)
def test_values_out_of_range_are_built_again(
    file: str, dtype: str, value: int, sealed: bool, pairs: Pairs, tmp_path: Path
) -> None:
    """Whether their checksums agree or there are none."""
    corpus = Corpus.build(pairs, FIELDS, tmp_path / "cache")
    before, folder = corpus.sums(), corpus.folder
    values = np.fromfile(folder / file, dtype)
    values[1] = value
    values.tofile(folder / file)
    (folder / "checksums.json").unlink()
    if sealed:
        write_checksum(folder)
    with pytest.raises(DataError, match=f"{file.split('.')[0] if sealed else 'no checksum'}.*it is built again"):
        Corpus(folder, FIELDS)
    assert Corpus.build(pairs, FIELDS, tmp_path / "cache").sums() == before


def test_a_cache_without_checksums_is_built_again(pairs: Pairs, tmp_path: Path) -> None:
    corpus = Corpus.build(pairs, FIELDS, tmp_path / "cache")
    (corpus.folder / "checksums.json").unlink()
    assert Corpus.build(pairs, FIELDS, tmp_path / "cache").sums() == corpus.sums()


@pytest.mark.parametrize(
    ("field", "values", "fits"),
    [
        (TagsField(Labels(("a", "b"))), {"ids": [0, 1, -100]}, True),
        (TagsField(Labels(("a", "b"))), {"ids": [0, 2]}, False),
        (LabelField(Labels(("a", "b"))), {"ids": [-1]}, False),
        (RecordField(NamedTexts(("a",), WORDS)), {"ids": [4, 3], "names": [2]}, True),
        (RecordField(NamedTexts(("a",), WORDS)), {"ids": [4, 3], "names": [3]}, False),
        (GraphField(NamedTexts(("a",), WORDS)), {"ids": [4, 3], "labels": [3]}, False),
        (GraphField(NamedTexts(("a",), WORDS)), {"ids": [WORDS.size], "labels": [2]}, False),
        (NumberField(), {"values": [0.5]}, True),
        (TokensField(), {"ids": [9]}, True),
    ],
)
def test_each_kind_knows_its_values(field: Field[Any], values: dict[str, list[float]], fits: bool) -> None:
    assert field.fits(Column({name: np.array(one) for name, one in values.items()}, {})) is fits


KILLED = """
import os, sys, time
from regard.data import Corpus, Tokenizer, TokensField
from regard.systems.translation.digits import Digits
words = Tokenizer.train(["0 1 2 3 4 5 6 7 8 9"], kind="words")
def stop(count):
    print("building", flush=True)
    time.sleep(60)
Corpus.build(Digits("copy", size=5000), {"source": TokensField(words)}, sys.argv[1], progress=stop)
"""


def test_killed_while_building_it_is_built_again(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    with child, child.stdout:
        assert child.stdout.readline() == "building\n"
        child.send_signal(signal.SIGKILL)
    assert [name.startswith(".building-") for name in folders(tmp_path)] == [True]
    words = Tokenizer.train(["0 1 2 3 4 5 6 7 8 9"], kind="words")
    assert len(Corpus.build(Digits("copy", size=5000), {"source": TokensField(words)}, tmp_path)) == 5000


def test_what_was_left_long_ago_is_swept(pairs: Pairs, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    old, new = cache / ".building-x-old", cache / ".building-x-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    long_ago = time.time() - 3 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    Corpus.build(pairs, FIELDS, cache)
    assert not old.exists()
    assert new.exists()


def test_other_processes_give_the_same_ids(tmp_path: Path) -> None:
    data = Digits("reverse", size=2 * CHUNK + 5)
    here = Corpus.build(data, FIELDS, tmp_path / "here", workers=0)
    there = Corpus.build(data, FIELDS, tmp_path / "there", workers=2)
    assert len(here) == len(there) == 2 * CHUNK + 5
    for name in here.fields:
        assert (here.ids(name) == there.ids(name)).all()
        assert (here.offsets(name) == there.offsets(name)).all()


def test_large_files_get_a_bar(
    pairs: Pairs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("regard.data.batching.encoding.LARGE", 0)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    Corpus.build(pairs, FIELDS, tmp_path / "to a file")
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert len(Corpus.build(pairs, FIELDS, tmp_path / "to a terminal")) == 3
    assert "3 examples" in capsys.readouterr().err


def test_a_file_that_changes_while_it_is_read_is_refused(pairs: Pairs, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="changed while being read"):
        Corpus.build(
            pairs, FIELDS, tmp_path / "cache", progress=lambda _: Path(pairs.source).write_text("9\n") and None
        )
    assert folders(tmp_path / "cache") == set()


def test_the_folder_of_the_data_is_never_written_to(pairs: Pairs, tmp_path: Path) -> None:
    before = folders(tmp_path)
    Corpus.build(pairs, FIELDS, tmp_path / "cache")
    assert folders(tmp_path) == before | {"cache"}


def test_kinds_of_fields(tmp_path: Path) -> None:
    (tmp_path / "tagged").write_text("a DT\nb NN\n\nc NN\n")
    tagged = Columns(tmp_path / "tagged")
    corpus = Corpus.build(
        tagged, {"text": TokensField(WORDS), "tags": TagsField(Labels(("DT", "NN")))}, tmp_path / "cache"
    )
    assert corpus[0]["tags"].tolist() == [0, 1]
    (tmp_path / "labelled").write_text("pos a b\nneg c\n")
    labelled = LabelledLines(tmp_path / "labelled")
    corpus = Corpus.build(
        labelled, {"text": TokensField(WORDS), "label": LabelField(Labels(("neg", "pos")))}, tmp_path / "cache"
    )
    assert corpus.ids("label").tolist() == [1, 0]


def test_a_label_or_a_field_that_is_not_there_is_named_by_line(tmp_path: Path) -> None:
    (tmp_path / "labelled").write_text("pos a b\nbad c\n")
    with pytest.raises(DataError, match="labelled:2: the label 'bad' does not occur in the training data"):
        Corpus.build(
            LabelledLines(tmp_path / "labelled"), {"label": LabelField(Labels(("neg", "pos")))}, tmp_path / "cache"
        )
    with pytest.raises(DataError, match="labelled:1: there is no field 'source', only text, label"):
        Corpus.build(LabelledLines(tmp_path / "labelled"), {"source": TokensField(WORDS)}, tmp_path / "cache")
    with pytest.raises(DataError, match="there is no such file"):
        Corpus.build(Jsonl(tmp_path / "none.jsonl"), FIELDS, tmp_path / "cache")
    with pytest.raises(DataError, match="is not a corpus"):
        Corpus(tmp_path, FIELDS)


def test_checksums_are_those_of_the_files_of_earlier_formats(tmp_path: Path) -> None:
    """Checkpoints of before hold the CRC-32 of `<field>.ids` and `<field>.offsets`, of labels too."""
    (tmp_path / "labelled").write_text("pos a b\nneg c\n")
    fields = {"text": TokensField(WORDS), "label": LabelField(Labels(("neg", "pos")))}
    corpus = Corpus.build(LabelledLines(tmp_path / "labelled"), fields, tmp_path / "cache")
    ids = [WORDS.encode(letter)[0] for letter in "abc"]
    content = {
        "text.ids": np.array(ids, np.int32),
        "text.offsets": np.array([0, 2, 3]),
        "label.ids": np.array([1, 0], np.int32),
        "label.offsets": np.array([0, 1, 2]),
    }
    assert corpus.sums() == {name: f"{zlib.crc32(values.tobytes()):08x}" for name, values in content.items()}
