"""Bytes inside a page: deflated, in base64, one after the other, each found by its place."""

from __future__ import annotations

import zlib
from base64 import b64encode

import numpy as np
from numpy.typing import NDArray

Place = tuple[int, int]
"""First character of a blob in the text of all blobs, and one behind its last."""


class Blobs:
    """Pieces of binary data. A browser cuts one out of the text and inflates it when it is drawn, not before.

    >>> blobs = Blobs()
    >>> blobs.add(np.zeros(1000, np.uint8)), blobs.add(np.ones(1, np.float32))
    ((0, 16), (16, 24))
    >>> len(blobs.text())
    24
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def add(self, values: NDArray[np.generic]) -> Place:
        """Append an array, in little-endian order, and return where its text is."""
        squeeze = zlib.compressobj(6, zlib.DEFLATED, -15)  # no header: what `deflate-raw` is to a browser
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        packed = squeeze.compress(np.ascontiguousarray(little).tobytes()) + squeeze.flush()
        self._parts.append(b64encode(packed).decode())
        begin, self._length = self._length, self._length + len(self._parts[-1])
        return begin, self._length

    def text(self) -> str:
        """Return the text of all blobs."""
        return "".join(self._parts)
