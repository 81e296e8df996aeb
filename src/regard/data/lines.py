"""The lines of a text file, with their numbers, whatever is in them."""

from __future__ import annotations

import codecs
import difflib
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from regard.data.problems import DataError


class Line(NamedTuple):
    """One line without its end; `problem` says why it has no text."""

    number: int
    text: str
    problem: str | None = None


def lines(path: Path, encoding: str = "utf-8") -> Iterator[Line]:
    """The lines of `path`, unpacked if its name ends in .gz.

    A line ends in LF or CRLF and in nothing else: form feeds and U+2028 are text. Each line is decoded alone, so that
    one bad byte costs one line. A byte order mark at the beginning is dropped.

    Raises:
        DataError: the file is missing, a folder, not readable, or a gzip file that is broken.
    """
    check_encoding(encoding, path)
    mark = codecs.BOM_UTF8 if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig") else b""
    with opened(path) as file:
        number = 0
        try:
            for number, raw in enumerate(file, start=1):
                if number == 1 and mark:
                    raw = raw.removeprefix(mark)
                yield _decoded(number, raw.removesuffix(b"\n").removesuffix(b"\r"), encoding)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(f"{path}: the gzip file is broken after line {number}; fetch or pack it again") from error


def opened(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked if its name ends in .gz; a missing file is a sentence with the nearest name."""
    try:
        return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file{_nearest(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; name a file in it") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def check_encoding(encoding: str, path: Path) -> None:
    """An encoding must be known, and must write a line end as ASCII does."""
    try:
        ascii_like = "\n".encode(encoding) == b"\n" or codecs.lookup(encoding).name == "utf-8-sig"
    except LookupError:
        raise DataError(f"{path}: there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from None
    if not ascii_like:
        raise DataError(f"{path}: {encoding} cannot be read line by line; convert it with iconv -f {encoding} -t utf-8")


def _decoded(number: int, raw: bytes, encoding: str) -> Line:
    try:
        return Line(number, raw.decode(encoding))
    except UnicodeDecodeError as error:
        utf16 = number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        remedy = "convert it with iconv -f utf-16 -t utf-8" if utf16 else "set data.encoding=latin-1"
        bad = f"byte 0x{raw[error.start]:02x} at column {error.start + 1}"
        return Line(
            number, "", f"{bad} is not {encoding} (if the file is {'UTF-16' if utf16 else 'latin-1'}, {remedy})"
        )


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f", nor the folder {path.parent}"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else f" in {path.parent}"
