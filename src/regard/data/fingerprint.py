"""Fingerprint: the key of a cache, made of content, never of dates or names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from regard.data.formats.lines import opened
from regard.data.problems import DataError

_BLOCK = 1 << 20


def fingerprint(parts: Iterable[str], files: Iterable[Path] = ()) -> str:
    """A name of 32 hexadecimal digits for texts and the contents of files, all in order.

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
    """Size and hash of a file's bytes as they lie on the disk."""
    opened(path).close()  # so that a missing file is the same sentence everywhere
    digest, size = hashlib.blake2b(digest_size=16), 0
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from error
    return b"%d:" % size + digest.digest()
