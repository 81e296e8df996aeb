"""Lines of files: ends, encodings, gzip, and what is wrong with files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from regard.data import DataError
from regard.data.lines import lines


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
    with pytest.raises(DataError, match="utf-16 cannot be read line by line; convert it with iconv"):
        list(lines(path, "utf-16"))
    assert "UTF-16" in (next(lines(path)).problem or "")
