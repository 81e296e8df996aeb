"""Binary data embedded in a page: deflated, base64-encoded, concatenated, and addressed by offsets."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = tuple[int, int] | tuple[int, int, int]
"""Start and end offset of a blob in the concatenated text; followed by 1 if it is sparse."""
_FAR = 255
_DENSE = 0.5  # share of nonzero cells from which sparse encoding is never shorter


class Blobs:
    """Binary blobs of a page. The browser decodes and inflates a blob only when it is drawn.

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
        """Append an array, in little-endian order, and return the offsets of its text."""
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        return self._append(deflated(np.ascontiguousarray(little).tobytes()))

    def add_pixels(self, pixels: NDArray[np.integer[Any]]) -> Place:
        """Append a tile of bytes in dense or sparse encoding, whichever is shorter.

        >>> blobs = Blobs()
        >>> blobs.add_pixels(np.eye(300, dtype=np.uint8))[2:], blobs.add_pixels(np.ones((3, 5), np.uint8))[2:]
        ((1,), ())
        """
        packed, sparse = packed_pixels(pixels)
        place = self._append(packed)
        return (*place, 1) if sparse else place

    def _append(self, packed: bytes) -> tuple[int, int]:
        self._parts.append(b64encode(packed).decode())
        begin, self._length = self._length, self._length + len(self._parts[-1])
        return begin, self._length

    def text(self) -> str:
        """Return the text of all blobs."""
        return "".join(self._parts)


def packed_pixels(pixels: NDArray[np.integer[Any]]) -> tuple[bytes, bool]:
    """Return the deflated bytes of a tile, and True if they are sparse (`sparse_pixels`).

    zlib strategies without match search are ten times as fast on noisy weights, and give shorter output.
    """
    dense = deflated(np.ascontiguousarray(pixels).tobytes(), strategy=zlib.Z_RLE)
    if np.count_nonzero(pixels) > _DENSE * pixels.size:
        return dense, False
    sparse = deflated(*sparse_pixels(pixels), strategy=zlib.Z_HUFFMAN_ONLY)
    return (sparse, True) if len(sparse) < len(dense) else (dense, False)


def sparse_pixels(pixels: NDArray[np.integer[Any]]) -> tuple[bytes, bytes]:
    """Return the gaps between nonzero cells, in row order, and the values of these cells.

    A gap of 255 or more is split over several bytes, with zero cells in between.

    >>> sparse_pixels(np.array([[0, 7, 0], [9, 0, 0]], np.uint8))
    (b'\\x02\\x02', b'\\x07\\t')
    """
    flat = pixels.reshape(-1)
    places = np.flatnonzero(flat)
    distances = np.diff(places, prepend=-1)
    ends = np.cumsum(distances // _FAR + 1) - 1
    gaps = np.full(ends[-1] + 1 if len(ends) else 0, _FAR, np.uint8)
    cells = np.zeros(len(gaps), pixels.dtype)
    gaps[ends], cells[ends] = distances % _FAR, flat[places]
    return gaps.tobytes(), cells.tobytes()


def deflated(*pieces: bytes, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    """Return pieces as one deflate stream, each with its own Huffman codes."""
    squeeze = zlib.compressobj(6, zlib.DEFLATED, -15, 9, strategy)  # no header: the browser's `deflate-raw` format
    packed = b""
    for piece in pieces[:-1]:
        packed += squeeze.compress(piece) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return packed + squeeze.compress(pieces[-1]) + squeeze.flush()
