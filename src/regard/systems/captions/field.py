"""Data field of pictures or precomputed feature maps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np

from regard.data.fields.column import EncodedRows
from regard.data.fields.vector_shape import VectorShape
from regard.data.fields.vectors import VectorsField, array_of
from regard.data.pictures.reading import Fit, Picture, PictureShape, read_picture, read_pictures
from regard.data.problems import DataError

Knots = tuple[tuple[float, float], ...]
"""Calibration curve: points (mean token log-probability, probability that the caption is correct), sorted."""


@dataclass(frozen=True)
class PictureSource:
    """Reference to a picture, which is read on demand.

    Attributes:
        name: path, or identifier of a generated picture; equal names mean equal pictures.
        source: path, bytes of a file, or array.
        note: notice about a conversion while the picture was read; None if there was none.
    """

    name: str
    source: Any = field(compare=False, repr=False)
    note: str | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class PictureKind(VectorShape):
    """Shape of the pictures of a run, and calibration of the caption confidence.

    Attributes:
        axes: [C, H, W] of pictures; [S, C] or [C, H, W] of feature maps, None for axes of variable size.
        fit: method to resize pictures of another shape; None for feature maps.
        calibration: map from log-probability to confidence, fitted on the validation data; None without calibration.

    >>> kind = PictureKind((3, 4, 4), "crop")
    >>> kind.read(np.zeros((7, 5, 3), np.uint8), "black").pixels.shape
    (3, 4, 4)
    """

    FILE: ClassVar[str] = "pictures"

    fit: Fit | None = None
    calibration: Knots | None = field(default=None, compare=False)

    @property
    def fingerprint(self) -> str:
        return f"{list(self.axes)} {self.fit}"

    @property
    def shape(self) -> PictureShape:
        """Shape that all pictures are resized to."""
        channels, height, width = self.axes
        assert channels is not None
        assert height is not None
        assert width is not None
        assert self.fit is not None
        return PictureShape(height=height, width=width, channels=channels, fit=self.fit)

    def read(self, source: Any, name: str | None = None) -> Picture:
        """Read a picture or a feature map and return its values in the shape of the run.

        Raises:
            DataError: it cannot be read or has the wrong shape.
        """
        if self.fit is not None:
            return _as_it_is(source, self.axes) or read_picture(source, self.shape, name=name)
        found = array_of(source)
        if not self.fits(found.shape):
            shown = name or "the feature map"
            raise DataError(f"{shown}: the array has the shape {list(found.shape)}, and those of the run {self}")
        return Picture(found)

    def save(self, path: str | Path) -> None:
        """Save shape and calibration as JSON."""
        content = {"axes": self.axes, "fit": self.fit, "calibration": self.calibration}
        Path(path).write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            axes, fit, knots = (content[name] for name in ("axes", "fit", "calibration"))
            calibration = None if knots is None else tuple((float(at), float(share)) for at, share in knots)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path} is not the form of pictures: {error}") from error
        whole = isinstance(axes, list) and axes and all(one is None or type(one) is int for one in axes)
        if not whole or fit not in (*get_args(Fit), None):
            raise DataError(f"{path} is not the form of pictures, with their axes and their fit")
        return cls(tuple(axes), fit, calibration)


@dataclass(frozen=True)
class PicturesField(VectorsField):
    """Field with one picture per example, [B, C, H, W], or one feature map, [B, S, C] with lengths or [B, C, H, W].

    A value is a `PictureSource`, a path or an array. Pictures are read in several threads, resized to one shape and
    stored as bytes.

    Attributes:
        shape: shape of all pictures; None for feature maps.

    >>> made = PicturesField.of(PictureShape(height=2, width=2))
    >>> made = made.with_encoder(made.learn([]))
    >>> made.encode([np.full((4, 4, 3), 7, np.uint8)])["shapes"].values.tolist()
    [[3, 2, 2]]
    """

    shape: PictureShape | None = None

    @classmethod
    def of(cls, shape: PictureShape | None) -> PicturesField:
        """Build a field for pictures of a shape; None for feature maps."""
        return cls(shape=shape, dtype="float32" if shape is None else "uint8")

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint} {self.shape}"

    def learn(self, values: Iterable[Any]) -> PictureKind:
        if self.shape is not None:
            return PictureKind((self.shape.channels, self.shape.height, self.shape.width), self.shape.fit)
        kind = PictureKind.of(array_of(_source(value)).shape for value in values)
        if len(kind.axes) not in (2, 3) or (len(kind.axes) == 3 and None in kind.axes) or kind.axes[-1] is None:
            raise DataError(f"feature maps are [S, C], or [C, H, W] of one size; those of the training data are {kind}")
        return kind

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        pictures = list(self._read([_source(value) for value in values]))
        found = super().encode([picture.pixels for picture in pictures])
        notes = tuple(picture.note for picture in pictures if picture.note is not None)
        return {**found, "values": found["values"]._replace(notes=notes)}

    def _read(self, sources: Sequence[Any]) -> Iterator[Picture]:
        kind = self.learned
        assert isinstance(kind, PictureKind)
        if kind.fit is None:
            yield from (kind.read(source, str(source)) for source in sources)
            return
        drawn = [_as_it_is(source, kind.axes) for source in sources]
        found = read_pictures((one for one, made in zip(sources, drawn, strict=True) if made is None), kind.shape)
        for made in drawn:
            picture = made or next(found)
            if isinstance(picture, DataError):
                raise picture
            yield picture


def _source(value: Any) -> Any:
    return value.source if isinstance(value, PictureSource) else value


def _as_it_is(source: Any, axes: tuple[int | None, ...]) -> Picture | None:
    """Return an array that already has the target shape [C, H, W] unchanged; None for other sources."""
    made = isinstance(source, np.ndarray) and source.dtype == np.uint8 and source.shape == axes
    return Picture(source) if made else None
