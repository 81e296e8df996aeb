"""Lines of files: ends, encodings, gzip, and what is wrong with files."""

from __future__ import annotations

import gzip
import os
import tracemalloc
from pathlib import Path

import pytest

from regard.data import DataError
from regard.data.formats.lines import lines


def texts(path: Path, encoding: str = "utf-8") -> list[str]:
    return [line.text for line in lines(path, encoding)]


def test_only_lf_and_crlf_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("one\r\ntwo\u2028still\x0ctwo\x85\n\nlast".encode())
    assert texts(path) == ["one", "two\u2028still\x0ctwo\x85", "", "last"]


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert texts(path) == ["one", "\ufefftwo"]
    assert texts(path, "utf-8-sig")[0] == "one"


def test_gzip_by_its_suffix(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress("größer\n二\n".encode()))
    assert texts(path) == ["größer", "二"]


def test_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("café – naïve\n".encode("cp1252"))
    assert texts(path, "cp1252") == ["café – naïve"]


def test_one_bad_byte_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nca\xe9 \ngood too\n")
    found = list(lines(path))
    assert [line.text for line in found] == ["good", "", "good too"]
    assert found[1].problem == "byte 0xe9 at column 3 is not utf-8 (data.encoding=cp1252 reads 'caé')"


@pytest.mark.parametrize(
    ("text", "encoding", "likeliest"),
    [
        ("das ist „gut“ und", "cp1252", "cp1252"),
        ("Příliš žluťoučký", "cp1250", "cp1250"),
        ("привет мир", "cp1251", "cp1251"),
        ("これは日本語", "shift_jis", "shift_jis"),
        ("café", "utf-8", "utf-8"),
    ],
)
def test_the_hint_names_the_encoding_that_fits(tmp_path: Path, text: str, encoding: str, likeliest: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode(encoding))
    problem = next(lines(path, "ascii")).problem or ""
    assert f"(data.encoding={likeliest} reads " in problem
    assert next(word for word in text.split() if not word.isascii()) in problem
    path.write_bytes(b"\0 \x81\x8d\xff")
    assert "is it a text file?" in (next(lines(path)).problem or "")


@pytest.mark.parametrize("name", ["a.txt", "a.gz"])
def test_a_line_that_is_too_long_costs_one_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    text = b"exactly 10\r\n" + b"x" * 11 + b"\n" + b"\n" + b"y" * 300_000 + b"\nlast"
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    found = list(lines(path, longest=10))
    assert [line.text for line in found] == ["exactly 10", "", "", "", "last"]
    assert [line.number for line in found if "more than 10 bytes" in (line.problem or "")] == [2, 4]


def test_a_line_that_is_too_long_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    tracemalloc.start()
    problems = [line.problem for line in lines(path, longest=2**20)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(problems) == 1
    assert peak < 2**23


def test_pipes_and_devices_are_refused_unless_read_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(DataError, match="is a pipe or a device"):
            list(lines(path))
    assert list(lines(Path("/dev/null"), pipe=True)) == []
    with pytest.raises(DataError, match=r"/dev/zero: a line has more than 6,553,600 bytes; is it a text file"):
        list(lines(Path("/dev/zero"), longest=1000, pipe=True))


def test_a_broken_gzip_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 100)[:-20])
    with pytest.raises(DataError, match=r"a\.gz: the gzip file is broken after line \d+"):
        list(lines(path))
    path.write_bytes(b"not gzip at all\n")
    with pytest.raises(DataError, match="broken after line 0"):
        list(lines(path))


def test_missing_files_have_a_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "train.de.gz").touch()
    with pytest.raises(DataError, match=r"train\.de: there is no such file; did you mean train\.de\.gz\?"):
        list(lines(tmp_path / "train.de"))
    with pytest.raises(DataError, match="nor the folder"):
        list(lines(tmp_path / "nowhere" / "train.de"))
    with pytest.raises(DataError, match="is a folder; name a file in it"):
        list(lines(tmp_path))


def test_encodings_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("größer\n".encode("utf-16"))
    with pytest.raises(DataError, match="there is no encoding 'utf8000'"):
        list(lines(path, "utf8000"))
    for odd in ("undefined", "rot13", "a\0b"):
        with pytest.raises(DataError, match="there is no encoding"):
            list(lines(path, odd))
    with pytest.raises(DataError, match="utf-16 cannot be read line by line; convert it with iconv"):
        list(lines(path, "utf-16"))
    assert "UTF-16" in (next(lines(path)).problem or "")
