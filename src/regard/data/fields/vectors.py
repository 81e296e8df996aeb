"""Field of numeric arrays: images, spectrograms, features."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from regard.data.fields.column import Column, EncodedRows, Ints, Part
from regard.data.fields.field import Field
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule
from regard.data.fields.vector_shape import VectorShape
from regard.data.problems import DataError

_BYTE = 1 / 255  # scales image bytes to [0, 1]


@dataclass(frozen=True)
class VectorsField(Field[VectorShape]):
    """Arrays of equal rank with axes of fixed or variable size: padded float32 [B, ...].

    If the first axis is variable, the batch also has its lengths [B].

    A value is a NumPy array, or the path of a `.npy` file, of a `.npz` file with one array, or `file.npz:name`. All
    values are concatenated in one file, with their shapes in another.

    Attributes:
        dtype: dtype on disk; "uint8" for images.
        scale: factor applied to values in a batch; None for 1 / 255 for uint8 and 1 otherwise.
        pad: padding value in a batch, after scaling.

    >>> frames = VectorsField(VectorShape((None, 2)))
    >>> stored = frames.encode([np.ones((3, 2)), np.zeros((1, 2))])
    >>> stored["values"].counts, stored["shapes"].values.tolist()
    (array([6, 2]), [[3, 2], [1, 2]])
    """

    CHUNK: ClassVar[int] = 64  # arrays are large, and a whole chunk is in memory

    dtype: Literal["float32", "float16", "uint8"] = "float32"
    scale: float | None = None
    pad: float = 0.0

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.dtype}"  # the scale does not affect the stored values

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("values", self.dtype), Part("shapes", "int64", (len(self.learned.axes),), rows=1))

    def learn(self, values: Iterable[Any]) -> VectorShape:
        return VectorShape.of(array_of(value).shape for value in values)

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        arrays = [self._checked(array_of(value), value) for value in values]
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(-1, len(self.learned.axes))
        flattened = np.concatenate([array.ravel() for array in arrays] or [np.empty(0, self.dtype)])
        return {
            "values": EncodedRows(flattened, shapes.prod(1)),
            "shapes": EncodedRows(shapes, np.ones(len(shapes), np.int64)),
        }

    def _checked(self, array: NDArray[Any], value: Any) -> NDArray[Any]:
        shown = f"{value}: " if isinstance(value, str | Path) else ""
        if not self.learned.fits(array.shape):
            raise DataError(f"{shown}the array has the shape {list(array.shape)}, and the field {self.learned}")
        if (not np.issubdtype(array.dtype, np.number) and array.dtype != np.bool_) or np.iscomplexobj(array):
            raise DataError(f"{shown}the array is of type {array.dtype}; give real numbers")
        if self.dtype == "uint8" and array.dtype != np.uint8:
            raise DataError(f"{shown}the array is of type {array.dtype}, and the field keeps uint8, 0 to 255")
        with np.errstate(over="ignore"):  # overflow to infinity is an error below
            kept: NDArray[Any] = np.ascontiguousarray(array, self.dtype)
        if not np.isfinite(kept).all():
            raise DataError(f"{shown}the array has values that are not finite in {self.dtype}")
        return kept

    def cells(self, column: Column) -> Ints:
        """Return the size of the first axis if it is variable, else 1."""
        first: Ints = column.values["shapes"][:, 0]
        return np.asarray(first) if self.learned.axes[0] is None else np.ones_like(first)

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        axes, shapes = self.learned.axes, column.single("shapes", examples)  # [B, R]
        most = [shapes[:, place].max(initial=0) if axis is None else axis for place, axis in enumerate(axes)]
        kept = self._scaled(self.pad / self._factor)
        padded = np.full((len(examples), *most), kept, np.float32)  # [B, ...]
        for row, (values, shape) in enumerate(zip(column.rows("values", examples), shapes.tolist(), strict=True)):
            padded[row][tuple(slice(size) for size in shape)] = self._scaled(values.reshape(shape))
        grows = (0, *(0 if axis is None else None for axis in axes))
        found = {name: PaddedArray(padded, PaddingRule(self.pad, grows))}
        if axes[0] is None:
            found[f"{name}_lengths"] = PaddedArray(shapes[:, 0].copy(), PER_EXAMPLE)
        return found

    @property
    def _factor(self) -> float:
        return self.scale if self.scale is not None else _BYTE if self.dtype == "uint8" else 1.0

    def _scaled(self, values: Any) -> Any:
        return values if self._factor == 1 else values * np.float32(self._factor)


def array_of(value: Any) -> NDArray[Any]:
    """Return an array, from its file if the value is a path.

    Raises:
        DataError: there is no such file, or it does not hold one array of numbers.
    """
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, str | Path):
        raise DataError(f"{type(value).__name__} is no array; give a NumPy array, or the path of a .npy or .npz file")
    path, _, member = str(value).partition(".npz:")
    file = Path(f"{path}.npz" if member else path)
    try:
        with file.open("rb") as opened:  # opened here, because NumPy does not close a damaged archive
            found = np.load(opened, allow_pickle=False)
            return found if isinstance(found, np.ndarray) else _member(found, file, member)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        if isinstance(problem, DataError):
            raise
        why = "there is no such file" if isinstance(problem, FileNotFoundError) else problem
        raise DataError(f"{file} is no array of NumPy: {why}") from None


def _member(archive: Any, file: Path, member: str) -> NDArray[Any]:
    """Return an array of an archive, by its name or as the only one."""
    names = [member] if member else archive.files
    if member and member not in archive.files:
        raise DataError(f"{file} has no array {member!r}; it has {', '.join(archive.files)}")
    if len(names) != 1:
        raise DataError(f"{file} has {len(names)} arrays; name one of them, {file}:{names[0] if names else 'name'}")
    found: NDArray[Any] = archive[names[0]]
    return found
