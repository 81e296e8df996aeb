"""Pictures of every kind become uint8 [C, H, W], and whatever was changed or refused is one sentence with the name."""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.data.pictures.reading import MOST_PIXELS, Picture, PictureShape, read_picture, read_pictures
from regard.data.problems import DataError

SHAPE = PictureShape(height=11, width=13)
GREY = PictureShape(height=11, width=13, channels=1)


def encoded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def plain(colour: Any, mode: str = "RGB", size: tuple[int, int] = (17, 19)) -> Image.Image:
    return Image.new(mode, size, colour)


def test_a_constant_picture_beyond_the_range_of_its_format_has_one_value() -> None:
    """All values 70,000: a range of zero, by which nothing is divided."""
    values = Image.fromarray(np.full((17, 19), 70_000, dtype=np.int32))
    assert len(np.unique(read_picture(encoded(values, "TIFF"), GREY).pixels)) == 1


@pytest.mark.parametrize("fit", ["crop", "pad", "stretch"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("size", [(17, 19), (5, 3), (1, 997), (997, 1), (13, 11)])
def test_every_size_becomes_the_shape(fit: Any, channels: int, size: tuple[int, int]) -> None:
    shape = PictureShape(height=11, width=13, channels=channels, fit=fit)
    pixels = read_picture(encoded(plain((255, 255, 255), size=size)), shape).pixels
    assert pixels.shape == (channels, 11, 13)
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    assert pixels.max() == 255


def test_pixels_that_fit_are_not_touched() -> None:
    array = np.arange(11 * 13 * 3, dtype=np.uint8).reshape(11, 13, 3)
    picture = read_picture(array, SHAPE)
    assert (picture.pixels == array.transpose(2, 0, 1)).all()
    assert picture.note is None


def test_crop_is_of_the_centre_and_pad_adds_zeros() -> None:
    """Six columns of values 0 50 100 150 200 250, two rows: cut to its two middle columns, or framed by zeros."""
    array = np.repeat(np.arange(0, 300, 50, dtype=np.uint8)[None], 2, axis=0)
    crop = read_picture(array, PictureShape(height=2, width=2, channels=1)).pixels
    assert crop.tolist() == [[[100, 150], [100, 150]]]
    pad = read_picture(array, PictureShape(height=6, width=6, channels=1, fit="pad")).pixels[0]
    assert (pad[2:4] == array).all()
    assert not pad[:2].any()
    assert not pad[4:].any()


def test_exif_rotation() -> None:
    """Orientation 6 is a camera that was turned: the left half of the file is the upper half of the picture."""
    halves = np.zeros((8, 8), np.uint8)
    halves[:, :4] = 255
    exif = Image.Exif()
    exif[0x0112] = 6
    shape = PictureShape(height=8, width=8, channels=1)
    pixels = read_picture(encoded(Image.fromarray(halves), "JPEG", quality=100, exif=exif), shape).pixels[0]
    assert (pixels[:4] > 250).all()
    assert (pixels[4:] < 5).all()


def test_transparency_is_white() -> None:
    picture = read_picture(encoded(plain((255, 0, 0, 0), "RGBA")), SHAPE, name="a.png")
    assert (picture.pixels == 255).all()
    assert picture.note == "a.png: its transparent parts were drawn over white"
    half = read_picture(encoded(plain((0, 0, 0, 127), "RGBA")), SHAPE).pixels
    assert (half == 128).all()
    assert read_picture(encoded(plain((9, 9, 9, 255), "RGBA")), SHAPE).note is None


def test_palettes_with_and_without_transparency() -> None:
    palette = plain((255, 0, 0)).convert("P", palette=Image.Palette.ADAPTIVE)
    assert (read_picture(encoded(palette), SHAPE).pixels[:, 0, 0] == [255, 0, 0]).all()
    index = palette.getpixel((0, 0))
    see_through = read_picture(encoded(palette, "GIF", transparency=index), SHAPE)
    assert (see_through.pixels == 255).all()
    assert "transparent" in (see_through.note or "")


def test_cmyk() -> None:
    picture = read_picture(encoded(plain((0, 255, 255, 0), "CMYK"), "JPEG", quality=100), SHAPE, name="a.jpg")
    red, green, blue = picture.pixels[:, 5, 5]
    assert red > 240
    assert green < 15
    assert blue < 15
    assert "CMYK" in (picture.note or "")


def test_sixteen_bits_and_grey() -> None:
    sixteen = Image.fromarray(np.full((11, 13), 257 * 100, np.uint16))
    picture = read_picture(encoded(sixteen), GREY, name="a.png")
    assert (picture.pixels == 100).all()
    assert "8 bits" in (picture.note or "")
    assert (read_picture(encoded(plain(77, "L")), SHAPE).pixels == 77).all()
    assert (read_picture(encoded(plain(1, "1")), GREY).pixels == 255).all()
    floats = encoded(Image.fromarray(np.full((11, 13), 0.5, np.float32)), "TIFF")
    assert (read_picture(floats, GREY).pixels == 128).all()


def test_arrays_of_numbers() -> None:
    assert (read_picture(np.full((11, 13), 0.5), GREY).pixels == 128).all()
    assert (read_picture(np.full((11, 13, 1), 257 * 9, np.uint16), GREY).pixels == 9).all()
    assert (read_picture(np.ones((11, 13), bool), GREY).pixels == 255).all()
    for array, word in (
        (np.ones((2, 3, 5), np.uint8), r"\[2, 3, 5\]"),
        (np.full((3, 3), 7.0), "7"),
        (np.full((3, 3), np.nan), "nan"),
        (np.ones((3, 3), np.int64), "int64"),
        (np.ones((0, 3), np.uint8), r"\[0, 3\]"),
    ):
        with pytest.raises(DataError, match=f"mine: .*{word}"):
            read_picture(array, SHAPE, name="mine")


def test_an_animation_is_its_first_frame() -> None:
    frames = [plain((255, 0, 0)), plain((0, 255, 0)), plain((0, 0, 255))]
    picture = read_picture(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]), SHAPE, name="a.gif")
    assert (picture.pixels[:, 5, 5] == [255, 0, 0]).all()
    assert picture.note == "a.gif: the first of its 3 frames was taken"


def test_one_pixel_is_enlarged() -> None:
    picture = read_picture(encoded(plain((9, 8, 7), size=(1, 1))), SHAPE, name="dot.png")
    assert (picture.pixels[:, 3, 3] == [9, 8, 7]).all()
    assert picture.note == "dot.png: its 1 x 1 pixels were enlarged"


def test_a_jpeg_of_four_hundred_megapixels_is_reduced_while_decoding() -> None:
    huge = Image.new("L", (20_000, 20_000), 100)
    picture = read_picture(encoded(huge, "JPEG"), SHAPE, name="sky.jpg")
    assert (picture.pixels == 100).all()
    assert picture.note == "sky.jpg: its 20,000 x 20,000 pixels were reduced while decoding"


@pytest.mark.parametrize(("kind", "options"), [("PNG", {"compress_level": 1}), ("JPEG", {"progressive": True})])
def test_other_large_pictures_are_refused_before_they_are_decoded(kind: str, options: dict[str, Any]) -> None:
    data = encoded(Image.new("1" if kind == "PNG" else "L", (8_003, 8_009)), kind, **options)
    with pytest.raises(DataError, match=rf"sky: .*{MOST_PIXELS:,}"):
        read_picture(data, SHAPE, name="sky")


def test_a_bomb_is_refused() -> None:
    """A file of a few bytes that claims 50,000 x 50,000 pixels."""
    data = bytearray(encoded(plain(0, "L")))
    data[16:24] = (50_000).to_bytes(4, "big") * 2
    import zlib

    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    with pytest.raises(DataError, match=rf"bomb\.png: .*{MOST_PIXELS:,}"):
        read_picture(bytes(data), SHAPE, name="bomb.png")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_a_file_that_is_cut_off(kind: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (97, 89, 3), dtype=np.uint8)
    data = encoded(Image.fromarray(noise), kind)
    for share in (0.02, 0.5, 0.9):
        with pytest.raises(DataError, match=r"^cut\.x: "):
            read_picture(data[: int(share * len(data))], SHAPE, name="cut.x")


@pytest.mark.parametrize(("data", "word"), [(b"", "empty"), (b"hello", "not a picture"), (b"\xff\xd8\xff", "damaged")])
def test_what_is_no_picture(tmp_path: Path, data: bytes, word: str) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    with pytest.raises(DataError, match=f"a.jpg: .*{word}"):
        read_picture(path, SHAPE)


def test_a_missing_pillow_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match=r"regard\[vision\]"):
        read_picture(b"...", SHAPE)


def test_pictures_are_read_in_order_from_an_archive_and_bad_ones_say_so(tmp_path: Path) -> None:
    archive = tmp_path / "photos.zip"
    with zipfile.ZipFile(archive, "w") as photos:
        for number in range(7):
            photos.writestr(f"{number}.png", encoded(plain(10 * number, "L")) if number != 3 else b"no")
    pictures = list(read_pictures((f"{archive}:{number}.png" for number in range(7)), GREY, workers=2))
    assert [int(one.pixels[0, 0, 0]) for one in pictures if isinstance(one, Picture)] == [0, 10, 20, 40, 50, 60]
    assert isinstance(pictures[3], DataError)
    assert "3.png" in str(pictures[3])


@pytest.mark.filterwarnings("ignore")  # Pillow warns of some damage that it can repair
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_damaged_bytes_are_a_picture_or_a_sentence(kind: str) -> None:
    random = np.random.default_rng(0)
    good = encoded(Image.fromarray(random.integers(0, 256, (23, 29, 3), dtype=np.uint8)), kind)
    for _ in range(60):
        data = bytearray(good)
        for place in random.integers(0, min(len(data), 400), 3):
            data[place] = random.integers(256)
        (result,) = read_pictures([bytes(data)], SHAPE, workers=0)
        if isinstance(result, DataError):
            assert str(result).startswith("the picture: ")
        else:
            assert result.pixels.shape == (3, 11, 13)


@pytest.mark.parametrize("wrong", [{"height": 0}, {"channels": 4}, {"fit": "zoom"}])
def test_a_shape_that_is_none(wrong: dict[str, Any]) -> None:
    key, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"{key}.*{value}"):
        PictureShape(**{"height": 2, "width": 3, **wrong})
