"""Bytes of files and of zip members."""

from __future__ import annotations

import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from regard.data.pictures.members import members, read_bytes, split_member
from regard.data.problems import DataError


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "photos.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as photos:
        photos.writestr("a/", "")
        for number in range(50):
            photos.writestr(f"a/{number}.jpg", str(number).encode() * 1000)
    return path


def test_members_are_read_by_many_threads(archive: Path) -> None:
    names = members(archive)
    assert names == [f"a/{number}.jpg" for number in range(50)]
    with ThreadPoolExecutor(4) as pool:
        contents = list(pool.map(read_bytes, [f"{archive}:{name}" for name in names * 4]))
    assert contents == [str(number).encode() * 1000 for number in range(50)] * 4


def test_an_archive_that_was_written_anew_is_read_anew(archive: Path) -> None:
    assert read_bytes(f"{archive}:a/1.jpg") == b"1" * 1000
    with zipfile.ZipFile(archive, "w") as photos:
        photos.writestr("a/1.jpg", b"new")
    assert read_bytes(f"{archive}:a/1.jpg") == b"new"


def test_a_file_may_be_called_like_a_member(tmp_path: Path) -> None:
    path = tmp_path / "a.zip:b"
    path.write_bytes(b"mine")
    assert split_member(path) == (path, None)
    assert read_bytes(path) == b"mine"
    assert split_member("X.ZIP:b.zip:c") == (Path("X.ZIP"), "b.zip:c")


def test_problems_are_one_sentence_with_the_name(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.jpg: cannot be read"):
        read_bytes(tmp_path / "no.jpg")
    with pytest.raises(DataError, match=r"no\.zip: cannot be read"):
        read_bytes(tmp_path / "no.zip:a.jpg")
    with pytest.raises(DataError, match=r"photos\.zip: .*'b\.jpg'"):
        read_bytes(f"{archive}:b.jpg")
    (tmp_path / "bad.zip").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"bad\.zip: is no zip archive"):
        members(tmp_path / "bad.zip")


def test_a_damaged_or_encrypted_member(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as photos:
        first, second = (photos.getinfo(f"a/{number}.jpg") for number in (0, 1))
    data[first.header_offset + 40] ^= 0xFF  # within the compressed bytes
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag of encryption, in both headers
        at = data.rfind(b"a/1.jpg", 0, len(data)) if signature == b"PK\x01\x02" else second.header_offset + 30
        data[at - (46 if signature == b"PK\x01\x02" else 30) + offset] |= 1
    archive.write_bytes(data)
    with pytest.raises(DataError, match=r"0\.jpg: the member is damaged"):
        read_bytes(f"{archive}:a/0.jpg")
    with pytest.raises(DataError, match=r"1\.jpg: is encrypted"):
        read_bytes(f"{archive}:a/1.jpg")
