"""Reading of files and of members of zip archives: `photo.jpg` and `photos.zip:train/photo.jpg`."""

from __future__ import annotations

import os
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

from regard.data.problems import DataError

_SEPARATOR = ".zip:"
_MOST_BYTES = 2**30  # maximum size of a file: a member of a few kilobytes may decompress to any size (zip bomb)


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file or of a zip member. Thread-safe.

    Raises:
        DataError: the file is missing, unreadable, encrypted, damaged or larger than 1 GiB.

    >>> from tempfile import mkdtemp
    >>> archive = Path(mkdtemp()) / "photos.zip"
    >>> with zipfile.ZipFile(archive, "w") as photos:
    ...     photos.writestr("a/dog.jpg", b"...")
    >>> read_bytes(f"{archive}:a/dog.jpg"), members(archive)
    (b'...', ['a/dog.jpg'])
    """
    archive, member = split_member(path)
    if member is None:
        return _read_file(archive)
    opened = _opened(archive)
    try:
        info = opened.getinfo(member)
        if info.file_size > _MOST_BYTES:
            raise DataError(f"{path}: unpacks to {info.file_size:,} bytes; the limit is {_MOST_BYTES:,}")
        return opened.read(info)
    except KeyError:
        raise DataError(f"{archive}: the archive has no member {member!r}") from None
    except (OSError, EOFError, zipfile.BadZipFile, NotImplementedError, zlib.error) as problem:
        raise DataError(f"{path}: the member is damaged ({problem}); copy the archive anew") from problem
    except RuntimeError as problem:  # zipfile's error for a member that needs a password
        raise DataError(f"{path}: is encrypted; unpack the archive and give the folder") from problem


def members(archive: str | Path) -> list[str]:
    """Return the names of all files in a zip archive, in archive order, without folders."""
    return [info.filename for info in _opened(Path(archive)).infolist() if not info.is_dir()]


def split_member(path: str | Path) -> tuple[Path, str | None]:
    """Split `photos.zip:a/dog.jpg` into archive and member; for other paths the member is None.

    >>> split_member("data/photos.zip:a/dog.jpg")
    (PosixPath('data/photos.zip'), 'a/dog.jpg')
    """
    text = str(path)
    at = text.lower().find(_SEPARATOR)
    if at < 0 or Path(text).exists():  # a file may be named a.zip:b
        return Path(path), None
    end = at + len(_SEPARATOR)
    return Path(text[: end - 1]), text[end:]


def _read_file(path: Path) -> bytes:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(f"{path}: has {path.stat().st_size:,} bytes; the limit is {_MOST_BYTES:,}")
        return path.read_bytes()
    except (OSError, ValueError) as problem:  # ValueError: a NUL in the name
        reason = getattr(problem, "strerror", None) or problem
        raise DataError(f"{path}: cannot be read ({reason})") from problem


def _opened(archive: Path) -> zipfile.ZipFile:
    try:
        state = archive.stat()
        # A forked process shares the file position with its parent, so each process must open the archive itself.
        return _open(archive, state.st_mtime_ns, state.st_size, os.getpid())
    except OSError as problem:
        raise DataError(f"{archive}: cannot be read ({problem.strerror})") from problem
    except zipfile.BadZipFile as problem:
        raise DataError(f"{archive}: is no zip archive, or a damaged one ({problem})") from problem


@lru_cache(maxsize=8)
def _open(archive: Path, modified: int, size: int, process: int) -> zipfile.ZipFile:
    """Open an archive; cached, because parsing the index of 8,000 photos takes longer than decoding one of them."""
    return zipfile.ZipFile(archive)
