"""Fingerprint: cache key from content, independent of dates and file names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from regard.data.formats.lines import opened
from regard.data.problems import DataError

_BLOCK = 1 << 20


def fingerprint(parts: Iterable[str], files: Iterable[Path] = ()) -> str:
    """Return a hash of 32 hexadecimal digits of texts and file contents, in order.

    >>> fingerprint(["a", "b"]) == fingerprint(["ab"])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(raw) + raw)
    for path in files:
        digest.update(content(path))
    return digest.hexdigest()


def content(path: Path) -> bytes:
    """Return size and hash of the raw bytes of a file."""
    opened(path).close()  # raises the usual error message for a missing file
    digest, size = hashlib.blake2b(digest_size=16), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    return b"%d:" % size + digest.digest()
