"""How the harmonic kernels are launched: the size of a tile, and into how many pieces the keys are cut."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class HarmonicTile:
    """Queries by keys, a step along the features, and how the program works on them.

    Attributes:
        rows: queries of a program.
        columns: keys at a time.
        depth: features at a time.
        warps: 4 for each 64 rows, as the tensor cores of compute capability 9.0 take them.
        stages: how many steps of features are under way at once; each takes (rows + columns) · depth · 2 bytes.
        flatten: one pipeline over all key tiles, instead of one that runs dry at the end of each.
        processors: how many programs the keys are cut for; 0 for as many as the device runs at once.
    """

    rows: int = 128
    columns: int = 256
    depth: int = 64
    warps: int = 8
    stages: int = 3
    flatten: bool = False
    processors: int = 0

    def pieces(self, programs: int, keys: int, device: torch.device) -> int:
        """Into how many pieces the keys are cut, so that there is work for the whole chip.

        >>> HarmonicTile(processors=132).pieces(64, 2048, torch.device("cpu"))
        2
        """
        processors = self.processors or torch.cuda.get_device_properties(device).multi_processor_count
        return max(1, min(8, processors // max(1, programs), -(-keys // self.columns)))


def choose_tile(queries: int, keys: int, *, dense: bool, interpreted: bool) -> HarmonicTile:
    """The rule, for an H200. The interpreter, which only checks, gets tiles that make small problems have several.

    A dense mask, whose tile lies in registers as well, leaves room for half as many keys.

    >>> choose_tile(2048, 2048, dense=False, interpreted=False).columns
    256
    """
    if interpreted:
        return HarmonicTile(16, 16, 32, warps=1, stages=1, processors=4)
    rows, warps = (64, 4) if queries <= 64 else (128, 8)
    return HarmonicTile(rows, 128 if keys <= 128 or dense else 256, warps=warps)
