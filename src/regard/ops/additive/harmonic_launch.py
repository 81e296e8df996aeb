"""How the harmonic kernels are launched: the sizes of tiles, and into how many pieces the keys are cut."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class FeatureTile:
    """Rows by hidden units of a program that makes features; it makes whole rows, some units at a time.

    Attributes:
        elements: rows times units at a time.
        columns: the most units at a time.
        warps: of a program.
    """

    elements: int = 2048
    columns: int = 128
    warps: int = 2

    def shape(self, units: int, most: int) -> tuple[int, int]:
        """Rows, at most `most`, and units at a time, a power of two that divides `units`, itself a multiple of 32.

        >>> FeatureTile().shape(128, 128), FeatureTile().shape(96, 128)
        ((16, 128), (64, 32))
        """
        columns = min(self.columns, units & -units)
        return min(most, self.elements // columns), columns


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
        features: the tile of the program that makes the features.
    """

    rows: int = 128
    columns: int = 256
    depth: int = 64
    warps: int = 8
    stages: int = 3
    flatten: bool = False
    processors: int = 0
    features: FeatureTile = FeatureTile()

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
        return HarmonicTile(16, 16, 32, warps=1, stages=1, processors=4, features=FeatureTile(512, 32, 1))
    rows, warps = (64, 4) if queries <= 64 else (128, 8)
    return HarmonicTile(rows, 128 if keys <= 128 or dense else 256, warps=warps)
