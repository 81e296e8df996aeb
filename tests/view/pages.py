"""Pages taken apart: the panels of a page and their maps, as the viewer in the browser decodes them."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
from numpy.typing import NDArray

TILE = 512


class Page:
    """The first panel of a page, decoded by the description of the format alone."""

    def __init__(self, html: str, number: int = 0) -> None:
        described = re.findall(r'<script type="application/json" class="regard-panel">(.*?)</script>', html)
        self.panel: dict[str, Any] = json.loads(described[number])
        self.blobs = re.findall(r'<script type="text/plain" class="regard-blobs">(.*?)</script>', html)[number]

    def bytes(self, place: tuple[int, ...]) -> bytes:
        """A piece of binary data."""
        return zlib.decompress(b64decode(self.blobs[place[0] : place[1]]), -15)

    def exact(self, kept: dict[str, Any]) -> NDArray[np.float32]:
        """The values of a map in float32."""
        return np.frombuffer(self.bytes(kept["exact"]), "<f4").reshape(kept["rows"], kept["columns"])

    def pixels(self, place: tuple[int, ...], size: int) -> NDArray[np.uint8]:
        """The bytes of a tile; of a sparse one distances between cells that are not zero come first, then these."""
        packed = np.frombuffer(self.bytes(place), np.uint8)
        if len(place) == 2:
            return packed
        gaps, cells = np.split(packed, 2)
        found = np.zeros(size, np.uint8)
        found[np.cumsum(gaps, dtype=np.int64) - 1] = cells
        return found

    def level(self, kept: dict[str, Any], number: int) -> NDArray[np.float32]:
        """The values of one level of a map, from its tiles."""
        level = kept["levels"][number]
        rows, columns = level["rows"], level["columns"]
        found = np.zeros((rows, columns), np.int8 if kept["signed"] else np.uint8)
        across = -(-columns // TILE)
        for index, place in enumerate(level["tiles"]):
            y, x = TILE * (index // across), TILE * (index % across)
            room = found[y : y + TILE, x : x + TILE]
            if place:
                room[:] = self.pixels(place, room.size).view(found.dtype).reshape(room.shape)
        steps = found.astype(np.float64) / kept["steps"]
        return (np.sign(steps) * steps**2 * kept["full"]).astype(np.float32)
