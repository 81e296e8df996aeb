"""Launch parameters of the kernels, by rules measured on an H200: tile sizes, and the way a tanh is computed.

Forward, a thread owns two keys of 16 queries, so that what it loads serves several pairs; backward one hidden unit of
16 or 32 rows, so that sums over rows stay in it. Short memories have narrow tiles, without padding to wide ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

SCRATCH = 32 * 2**20
"""Bytes for the gradients of energies, which exist for as many rows at a time as fit."""

_SHORT = 64
"""Keys up to which tiles are narrow."""

_PROGRAMS = 1024
"""Programs that fill a chip of 132 multiprocessors evenly."""


@dataclass(frozen=True)
class LaunchTile:
    """Rows and columns that one program works on at a time, and by how many warps."""

    rows: int
    columns: int
    warps: int
    stages: int = 2


@dataclass(frozen=True)
class Launch:
    """A choice for all kernels.

    Attributes:
        forward: queries by keys.
        energy: queries by keys, in the first step of the backward pass.
        slopes: queries (or keys) by hidden units, in the second.
        group: how many elements share a reciprocal, 2 or 4; 0 for the tanh itself.
        direct: whether `slopes` takes the tanh itself in any case.
        granule: rows of what the kernels read are padded to multiples of this, no less than the sides of all tiles.
    """

    forward: LaunchTile = LaunchTile(16, 256, 4)
    energy: LaunchTile = LaunchTile(16, 256, 4)
    slopes: LaunchTile = LaunchTile(16, 128, 4)
    group: int = 0
    direct: bool = False
    granule: int = 256

    def __post_init__(self) -> None:
        side = max(max(tile.rows, tile.columns) for tile in (self.forward, self.energy, self.slopes))
        if side > self.granule:
            raise ValueError(
                f"additive: a tile with a side of {side} needs a granule of at least that; got {self.granule}"
            )

    @property
    def slope_group(self) -> int:
        """`group`, for `slopes`."""
        return 0 if self.direct else self.group

    @property
    def limit(self) -> float:
        """The largest |q| + |k| at which the product of `group` denominators is a float32 number.

        A denominator is at most 1 + e^2(|q| + |k|): the product of two at 21.5, or four at 10.75, is e^86 = 2.2e37.
        """
        return 43.0 / self.group if self.group else 0.0

    def pieces(self, programs: int) -> int:
        """Into how many pieces the way of each program of `slopes` is cut, so that there is work for the whole chip."""
        return min(64, max(1, _PROGRAMS // max(1, programs)))


def choose(hidden: int, keys: int, dtype: torch.dtype, *, features: bool, interpreted: bool) -> Launch:
    """The rule. The interpreter, which only checks, gets tiles that make small problems have several.

    >>> choose(128, 2048, torch.bfloat16, features=False, interpreted=False).forward
    LaunchTile(rows=16, columns=256, warps=4, stages=2)
    >>> choose(128, 32, torch.bfloat16, features=False, interpreted=False).forward
    LaunchTile(rows=16, columns=32, warps=4, stages=2)
    """
    # In float32 the product errs a few times as much as a tanh: it is for half precision, which cannot see that.
    group = 0 if features or dtype == torch.float32 else 2
    if interpreted:
        small = LaunchTile(16, 16, 1)
        return Launch(small, small, small, group, granule=16)
    if features:  # a tile of features lies in registers as well
        small = LaunchTile(16, 32, 4)
        return Launch(small, small, small, group)
    if dtype == torch.float32:
        pairs = LaunchTile(16, 128, 4)
        return Launch(pairs, pairs, LaunchTile(16, 64, 2) if hidden <= 64 else LaunchTile(16, 128, 4), group)
    if keys <= _SHORT:
        pairs = LaunchTile(16, 32, 2 if hidden <= 64 else 4)
        return Launch(pairs, pairs, LaunchTile(32, 64, 2), group, granule=128)
    return Launch(LaunchTile(16, 256, 4), LaunchTile(16, 128, 4), LaunchTile(32, 64, 2), group)


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
