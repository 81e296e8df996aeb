"""Robust reading of the lines of text files, with line numbers."""

from __future__ import annotations

import codecs
import difflib
import gzip
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from regard.data.formats.encodings import plausible_encodings
from regard.data.problems import DataError, shortened

LONGEST = 10_000_000
"""Default maximum length of a line in bytes; see `data.max_line`."""
_BLOCK, _ENDLESS = 2**16, 100


class Line(NamedTuple):
    """One line without its line end; `problem` is the error message if it could not be decoded."""

    number: int
    text: str
    problem: str | None = None


def lines(path: Path, encoding: str = "utf-8", longest: int = LONGEST, *, pipe: bool = False) -> Iterator[Line]:
    """Yield the lines of `path`, decompressed if its name ends in .gz.

    Lines end with LF or CRLF only: form feeds and U+2028 are text. Each line is decoded separately, so that an invalid
    byte affects only one line. A byte order mark at the start is removed.

    Args:
        path: the file.
        encoding: encoding of the text.
        longest: maximum length of a line in bytes; a longer one is skipped in constant memory and has a problem instead
            of a text.
        pipe: whether the file may be a pipe or a device, if it is read only once.

    Raises:
        DataError: the file is missing, a folder, not readable, or a damaged gzip file.
    """
    check_encoding(encoding, path)
    mark = codecs.BOM_UTF8 if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig") else b""
    number = 0
    with opened(path, pipe=pipe) as file, read_errors(path, lambda: f" after line {number}"):
        for number, raw in enumerate(bounded_lines(file, str(path), longest), start=1):
            if raw is None:
                yield Line(number, "", too_long(longest))
                continue
            if number == 1 and mark:
                raw = raw.removeprefix(mark)
            yield _decoded(number, raw.removesuffix(b"\n").removesuffix(b"\r"), encoding)


def bounded_lines(file: BinaryIO, name: str, longest: int = LONGEST) -> Iterator[bytes | None]:
    """Yield the lines of a file with their line ends; None for a line longer than `longest` bytes without its end.

    Raises:
        DataError: a line does not end within a hundred times as many bytes, for example in /dev/zero.
    """
    room, most = longest + 2, _ENDLESS * max(longest, _BLOCK)
    while raw := file.readline(room):
        if len(raw) <= longest or len(raw.rstrip(b"\r\n")) <= longest:
            yield raw
            continue
        yield None
        read = 0
        while raw and not raw.endswith(b"\n"):
            raw = file.readline(_BLOCK)
            read += len(raw)
            if read > most:
                raise DataError(f"{name}: a line has more than {most:,} bytes; is it a text file?")


def too_long(longest: int) -> str:
    """Return the error message for a line that is too long."""
    return f"the line has more than {longest:,} bytes; cut it into several, or set data.max_line"


@contextmanager
def read_errors(path: Path, place: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Context manager that converts gzip and I/O errors to DataError."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip file is broken{place()}; fetch or pack it again") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error


def opened(path: Path, *, pipe: bool = False) -> BinaryIO:
    """Open a file as bytes, decompressed if its name ends in .gz; a missing file is a DataError with a suggestion."""
    if not pipe:
        check_regular(path)
    try:
        return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file{_nearest(path)}") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder; name a file in it") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error


def check_regular(path: Path) -> None:
    """Reject pipes and devices: data are read more than once, and such files may have no end.

    A file that is missing or inaccessible raises its error later, when it is opened.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise DataError(f"{path} is a pipe or a device; write what it gives to a file, and name that")


def check_encoding(encoding: str, path: Path) -> None:
    """Check that an encoding exists and encodes line ends as ASCII does."""
    try:
        ascii_like = "\n".encode(encoding) == b"\n" or codecs.lookup(encoding).name == "utf-8-sig"
    except (LookupError, ValueError):
        raise DataError(f"{path}: there is no encoding {encoding!r}; try utf-8, latin-1 or cp1252") from None
    if not ascii_like:
        raise DataError(f"{path}: {encoding} cannot be read line by line; convert it with iconv -f {encoding} -t utf-8")


def _decoded(number: int, raw: bytes, encoding: str) -> Line:
    try:
        return Line(number, raw.decode(encoding))
    except UnicodeDecodeError as error:
        bad = f"byte 0x{raw[error.start]:02x} at column {error.start + 1} is not {encoding}"
        return Line(number, "", f"{bad}{_remedy(number, raw, error.start)}")
    except UnicodeError as error:  # punycode and idna report no position
        return Line(number, "", f"the line is not {encoding} ({error})")


def _remedy(number: int, raw: bytes, place: int) -> str:
    """Return advice for a line that cannot be decoded: plausible encodings and what they decode there."""
    if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return " (the file is UTF-16; convert it with iconv -f utf-16 -t utf-8)"
    found = [
        f"data.encoding={name} reads {shortened(word, 30)!r}" for name, word in plausible_encodings(raw, place).items()
    ]
    return f" ({', '.join(found)})" if found else " (no frequent encoding fits; is it a text file?)"


def _nearest(path: Path) -> str:
    if not path.parent.is_dir():
        return f", nor the folder {path.parent}"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else f" in {path.parent}"
