"""Decoding of images of any format to arrays of one shape: uint8 [C, H, W]."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from regard.data.pictures.members import read_bytes
from regard.data.pictures.parallel import map_in_order
from regard.data.problems import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

Fit = Literal["crop", "pad", "stretch"]
Source = str | Path | bytes | NDArray[Any]
MOST_PIXELS = 64_000_000  # maximum decoded size: 8,000 x 8,000, about 250 MB during conversion


@dataclass(frozen=True, kw_only=True)
class PictureShape:
    """Common shape of all images of a data set.

    Attributes:
        height: H, in pixels.
        width: W, in pixels.
        channels: C, 3 for RGB or 1 for greyscale.
        fit: `"crop"` scales the image to cover the shape and crops both sides equally; `"pad"` scales it to fit and
            pads with zeros around it; `"stretch"` ignores the aspect ratio.
    """

    height: int
    width: int
    channels: int = 3
    fit: Fit = "crop"

    def __post_init__(self) -> None:
        if self.height < 1 or self.width < 1:
            raise ValueError(f"a picture's height and width must be at least 1; got {self.height} and {self.width}")
        if self.channels not in (1, 3):
            raise ValueError(f"a picture's channels must be 1 (grey) or 3 (colours); got {self.channels}")
        if self.fit not in get_args(Fit):
            raise ValueError(f"a picture's fit must be {', '.join(get_args(Fit))}; got {self.fit!r}")


class Picture(NamedTuple):
    """A decoded image.

    Attributes:
        pixels: uint8 [C, H, W].
        note: note on unusual conversions, with the file name; None for an ordinary image.
    """

    pixels: NDArray[np.uint8]
    note: str | None = None


def read_picture(source: Source, shape: PictureShape, *, name: str | None = None) -> Picture:
    """Decode an image and convert it to a shape.

    The EXIF orientation is applied. Transparent pixels are blended with white. Only the first frame of an animation is
    used. CMYK, palettes and 16 bits are converted to 8 bits per channel. A JPEG of more than 64 million pixels is
    reduced during decoding; other images of that size are an error, because decoding them may exhaust the memory.

    Args:
        source: a path, `photos.zip:name.jpg`, the bytes of a file, or an array: uint8, uint16, booleans or floats in
            [0, 1], [H, W] or [H, W, C] with C = 1, 3 or 4.
        shape: see `PictureShape`.
        name: name of the image in messages; None for its path, or "the picture".

    Raises:
        DataError: the file is not an image, or empty, truncated or too large.

    >>> red = np.zeros((7, 5, 3), np.uint8)
    >>> red[..., 0] = 255
    >>> read_picture(red, PictureShape(height=4, width=4)).pixels[:, 0, 0]
    array([255,   0,   0], dtype=uint8)
    """
    name = name or (str(source) if isinstance(source, str | Path) else "the picture")
    changes: list[str] = []
    opened = _of_array(source, name) if isinstance(source, np.ndarray) else _of_bytes(source, shape, name, changes)
    pixels = _fitted(_coloured(_turned(opened), shape.channels, name, changes), shape, changes)
    note = f"{name}: {'; '.join(changes)}" if changes else None
    return Picture(pixels, note)


def read_pictures(
    sources: Iterable[Source], shape: PictureShape, *, workers: int | None = None, ahead: int | None = None
) -> Iterator[Picture | DataError]:
    """Decode many images in threads, in order; an unusable image yields its `DataError` instead of raising it.

    Args:
        sources: see `read_picture`.
        shape: the common shape.
        workers: see `map_in_order`.
        ahead: see `map_in_order`.
    """
    return map_in_order(partial(_read_or_problem, shape), sources, workers=workers, ahead=ahead)


def _read_or_problem(shape: PictureShape, source: Source) -> Picture | DataError:
    try:
        return read_picture(source, shape)
    except DataError as problem:
        return problem


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise DataError("to read pictures, pip install 'regard[vision]'") from None
    return Image


def _of_array(array: NDArray[Any], name: str) -> Image:
    """Convert an array to a Pillow image."""
    image = _pillow()
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)) or not array.size:
        raise DataError(f"{name}: an array must be [H, W] or [H, W, C] with C = 1, 3 or 4; got {list(array.shape)}")
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * np.uint8(255)
    elif array.dtype == np.uint16:
        array = (array // 257).astype(np.uint8)  # 65535 / 257 = 255
    elif np.issubdtype(array.dtype, np.floating):
        if not (array.min() >= 0.0 and array.max() <= 1.0):  # also catches NaN
            raise DataError(f"{name}: an array of floats must lie in [0, 1]; got {array.min():g} to {array.max():g}")
        array = np.rint(array * 255.0).astype(np.uint8)
    elif array.dtype != np.uint8:
        raise DataError(f"{name}: an array must hold uint8, uint16, booleans or floats; got {array.dtype}")
    made: Image = image.fromarray(np.ascontiguousarray(array))
    return made


def _of_bytes(source: str | Path | bytes, shape: PictureShape, name: str, changes: list[str]) -> Image:
    """Decode the first frame of a file."""
    data = source if isinstance(source, bytes) else read_bytes(source)
    if not data:
        raise DataError(f"{name}: the file is empty")
    _pillow()
    try:
        opened = _opened(data, name)
        _limit_size(opened, shape, name, changes)
        if getattr(opened, "n_frames", 1) > 1:
            changes.append(f"the first of its {opened.n_frames} frames was taken")
        opened.load()  # decodes here, so that errors of damaged files are caught
    except DataError:
        raise
    except Exception as problem:  # Pillow's decoders raise many types of exceptions on damaged files
        if "truncated" in str(problem) or isinstance(problem, EOFError):
            raise DataError(f"{name}: the picture is cut off; copy the file anew") from problem
        raise DataError(f"{name}: the picture is damaged ({problem}); copy the file anew") from problem
    decoded: Image = opened
    return decoded


def _opened(data: bytes, name: str) -> Any:
    """Open an image without decoding it: only its header is parsed."""
    from PIL import Image, JpegImagePlugin, UnidentifiedImageError

    if data.startswith(b"\xff\xd8\xff"):
        # Not `Image.open`, which rejects a large JPEG before it can be reduced.
        return JpegImagePlugin.JpegImageFile(io.BytesIO(data))
    try:
        return Image.open(io.BytesIO(data))
    except UnidentifiedImageError:
        raise DataError(f"{name}: is not a picture in a format that Pillow knows") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise DataError(f"{name}: has more than {MOST_PIXELS:,} pixels; reduce it first, or save it as JPEG") from None


def _limit_size(opened: Any, shape: PictureShape, name: str, changes: list[str]) -> None:
    """Reduce a JPEG during decoding, which takes a fraction of the time; reject other images that are too large.

    A progressive JPEG has all its coefficients in memory, even if it is reduced.
    """
    width, height = opened.size
    if opened.format == "JPEG":
        most = 2 * max(shape.height, shape.width)  # twice the target size, for good resampling
        opened.draft("L" if shape.channels == 1 else "RGB", (most, most))
    reduced = opened.size != (width, height)
    large = width * height > MOST_PIXELS
    if opened.width * opened.height > MOST_PIXELS or (large and opened.info.get("progressive")):
        raise DataError(
            f"{name}: {width:,} x {height:,} pixels are more than {MOST_PIXELS:,}; "
            "reduce it first, or save it as a JPEG that is not progressive"
        )
    if large and reduced:
        changes.append(f"its {width:,} x {height:,} pixels were reduced while decoding")


def _turned(opened: Image) -> Image:
    """Apply the EXIF orientation."""
    from PIL import ImageOps

    try:
        turned: Image = ImageOps.exif_transpose(opened)
    except Exception:  # the pixels may be fine although the EXIF block is damaged
        return opened
    return turned


def _coloured(opened: Image, channels: int, name: str, changes: list[str]) -> Image:
    """Convert to eight bits per channel, greyscale or RGB, without transparency."""
    from PIL import Image

    mode = "L" if channels == 1 else "RGB"
    if opened.mode.startswith("I") or opened.mode == "F":
        changes.append("its grey values were reduced to 8 bits")
        opened = _eight_bits(opened)
    try:
        if opened.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in opened.info:
            layered = opened.convert("RGBA")
            if np.asarray(layered.getchannel("A")).min() < 255:
                changes.append("its transparent parts were drawn over white")
            white = Image.new("RGBA", layered.size, (255, 255, 255, 255))
            opened = Image.alpha_composite(white, layered)
        elif opened.mode == "CMYK":
            changes.append("its CMYK colours were converted to red, green and blue")
            opened = opened.convert("RGB")
        return opened if opened.mode == mode else opened.convert(mode)
    except ValueError as problem:
        raise DataError(f"{name}: colours of the kind {opened.mode} cannot be converted; save it as PNG") from problem


def _eight_bits(opened: Image) -> Image:
    """Convert grey values of 16 or 32 bits or floats to bytes.

    Values are scaled by the range of the format, or by their own range if they exceed it. Mode "I" (32 bits) is usually
    a file of 16 bits that Pillow opens in this mode.
    """
    from PIL import Image

    values = np.nan_to_num(np.asarray(opened, dtype=np.float64))  # [H, W]
    floats = opened.mode == "F" and values.max() <= 1.0
    low, high = (0.0, 1.0) if floats else (0.0, 65535.0)
    if values.min() < low or values.max() > high:
        low, high = float(values.min()), float(values.max())
    span = (high - low) or 1.0  # a constant picture has no range of its own
    return Image.fromarray(np.rint((values - low) / span * 255.0).astype(np.uint8))


def _fitted(opened: Image, shape: PictureShape, changes: list[str]) -> NDArray[np.uint8]:
    """Resize, crop or pad to the shape; return pixels [C, H, W]."""
    from PIL import Image, ImageOps

    size, method = (shape.width, shape.height), Image.Resampling.BICUBIC
    if min(opened.size) == 1 and opened.size != size:
        changes.append(f"its {opened.width} x {opened.height} pixels were enlarged")
    if shape.fit == "crop":
        opened = ImageOps.fit(opened, size, method)
    elif shape.fit == "pad":
        opened = _padded(opened, shape)
    else:
        opened = opened.resize(size, method, reducing_gap=3.0)
    pixels = np.asarray(opened, dtype=np.uint8)
    return pixels[None].copy() if shape.channels == 1 else pixels.transpose(2, 0, 1).copy()  # [C, H, W]


def _padded(opened: Image, shape: PictureShape) -> Image:
    """Pad an image with zeros on all sides; each side of the scaled image has at least one pixel."""
    from PIL import Image

    scale = min(shape.width / opened.width, shape.height / opened.height)
    inner = max(1, round(opened.width * scale)), max(1, round(opened.height * scale))
    canvas = Image.new(opened.mode, (shape.width, shape.height))
    left, top = (shape.width - inner[0]) // 2, (shape.height - inner[1]) // 2
    canvas.paste(opened.resize(inner, Image.Resampling.BICUBIC, reducing_gap=3.0), (left, top))
    return canvas
