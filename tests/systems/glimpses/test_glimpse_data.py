"""Drawn digits, MNIST and pictures in files: what a canvas holds, and sentences about bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from regard.data import DataError
from regard.data.example import BadLine, Example
from regard.data.fields.vector_shape import VectorShape
from regard.data.pictures.reading import PictureShape
from regard.recipes.errors import RecipeError
from regard.recipes.load import load
from regard.systems.glimpses.canvas import Canvas, Glyph
from regard.systems.glimpses.drawn_digits import DrawnDigits, draw_digit
from regard.systems.glimpses.mnist import Mnist
from regard.systems.glimpses.picture_files import PictureFiles
from regard.systems.glimpses.pixels import PixelsField


def bar(label: str, value: int) -> Glyph:
    return Glyph(np.full((28, 28), value, np.uint8), label)


def arrays(folder: Path, **changed: Any) -> Path:
    """A file of MNIST's form: digit n is a square of value 10 + n."""
    squares = np.stack([np.full((28, 28), 10 + number, np.uint8) for number in range(7)])
    given = {
        "x_train": squares,
        "y_train": np.arange(7),
        "x_test": squares[:3],
        "y_test": np.array([4, 5, 6]),
    } | changed
    np.savez(folder / "mnist.npz", **{name: value for name, value in given.items() if value is not None})
    return folder / "mnist.npz"


def test_a_digit_lies_where_the_setting_says() -> None:
    rng = np.random.default_rng(1)
    plain, labels = Canvas(setting="plain", side=31).filled(bar("3", 9), lambda: bar("5", 7), rng)
    assert labels == ["3"]
    assert plain[0, 1:29, 1:29].min() == 9
    assert plain.sum() == 9 * 28 * 28
    translated = [Canvas(setting="translated", side=37).filled(bar("3", 9), lambda: bar("5", 7), rng) for _ in range(9)]
    assert {pixels.sum() for pixels, _ in translated} == {9 * 28 * 28}
    assert len({int(pixels.argmax()) for pixels, _ in translated}) > 3


def test_clutter_is_pieces_of_other_digits_below_the_digit() -> None:
    canvas = Canvas(setting="cluttered", side=60, clutter=2, patch=5)
    pixels, labels = canvas.filled(bar("3", 9), lambda: bar("5", 7), np.random.default_rng(1))
    assert labels == ["3"]
    assert (pixels == 9).sum() == 28 * 28
    assert 0 < (pixels == 7).sum() <= 2 * 25


@pytest.mark.parametrize("order", ["places", "values"])
def test_a_pair_is_read_from_left_to_right_or_by_value(order: Any) -> None:
    rng, seen = np.random.default_rng(1), set()
    for _ in range(20):
        pixels, labels = Canvas(setting="pairs", side=80, order=order).filled(bar("8", 9), lambda: bar("2", 7), rng)
        columns = [np.flatnonzero((pixels[0] == value).any(0)).mean() for value in (9, 7)]
        left_to_right = ["8", "2"] if columns[0] < columns[1] else ["2", "8"]
        assert labels == (["2", "8"] if order == "values" else left_to_right)
        seen.add(tuple(left_to_right))
    assert len(seen) == 2


def test_drawn_digits_are_a_function_of_seed_split_and_number() -> None:
    first, again = DrawnDigits(size=3)[2].fields["picture"], DrawnDigits(size=9)[2].fields["picture"]
    assert (first == again).all()
    for other in (DrawnDigits("test", size=3), DrawnDigits(size=3, seed=1)):
        assert (other[2].fields["picture"] != first).any()
    assert {DrawnDigits(size=99)[number].fields["labels"][0] for number in range(99)} == set("0123456789")
    with pytest.raises(DataError, match="28"):
        DrawnDigits(side=27)


def test_a_one_is_a_line_and_a_zero_a_ring() -> None:
    rng = np.random.default_rng(2)
    ones, zeros = ([draw_digit(label, rng).pixels for _ in range(11)] for label in "10")
    assert np.mean([one.sum() for one in ones]) < 0.7 * np.mean([zero.sum() for zero in zeros])
    assert np.mean([zero[12:16, 12:16].mean() for zero in zeros]) < 30


def test_mnist_is_divided_by_its_order(tmp_path: Path) -> None:
    path = arrays(tmp_path)
    found = {
        split: [example.fields["labels"] for example in Mnist(path, split, valid_size=2)]
        for split in ("train", "valid", "test")
    }
    assert found == {
        "train": [["0"], ["1"], ["2"], ["3"], ["4"]],
        "valid": [["5"], ["6"]],
        "test": [["4"], ["5"], ["6"]],
    }
    small = Mnist(path, train_size=2, valid_size=2, copies=3, setting="translated", side=60)
    examples = list(small)
    assert [example.fields["labels"] for example in examples] == [["0"], ["1"]] * 3
    assert (examples[0].fields["picture"] != examples[2].fields["picture"]).any()
    assert [(a.fields["picture"] == b.fields["picture"]).all() for a, b in zip(examples, small, strict=True)] == [
        True
    ] * 6
    assert str(tmp_path) not in small.settings()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"x_train": None}, "no array 'x_train'"),
        ({"x_train": np.zeros((7, 28, 27), np.uint8)}, "x_train must be uint8"),
        ({"x_train": np.zeros((7, 28, 28))}, "x_train must be uint8"),
        ({"y_train": np.arange(6)}, "y_train must be a digit"),
        ({"y_train": np.arange(7) + 5}, "y_train must be a digit"),
    ],
)
def test_a_file_that_is_no_mnist_is_one_sentence(changed: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mnist\.npz") as raised:
        list(Mnist(arrays(tmp_path, **changed), valid_size=2))
    assert sentence in str(raised.value)


def test_too_few_digits_name_the_keys(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.valid_size=7"):
        list(Mnist(arrays(tmp_path), valid_size=7))


def test_pictures_in_files_with_their_labels(tmp_path: Path) -> None:
    Image.new("CMYK", (30, 20), (200, 200, 200)).save(tmp_path / "a.jpg")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nbut no more")
    table = tmp_path / "train.tsv"
    table.write_text("a.jpg\tlight grey\nbroken.png\tx\nnone.png\tx\na.jpg\n")
    shape = PictureShape(height=5, width=7, channels=1)
    items = list(PictureFiles(table, shape).items())
    assert isinstance(items[0], Example)
    assert items[0].fields["picture"].pixels.shape == (1, 5, 7)
    field = PixelsField(VectorShape((1, 5, 7)), dtype="uint8")
    (note,) = field.encode([items[0].fields["picture"]])["values"].notes
    assert "a.jpg: its CMYK" in note
    assert items[0].fields["labels"] == ["light grey"]
    for number, word in ((2, "broken.png"), (3, "none.png"), (4, "one label")):
        bad = items[number - 1]
        assert isinstance(bad, BadLine)
        assert bad.where == f"{table}:{number}"
        assert word in bad.why
    reader = PictureFiles(table, shape, bad_lines="skip")
    assert len(list(reader)) == 1
    assert reader.skipped.count == 3
    assert PictureFiles(table, shape).files == (table, tmp_path / "a.jpg", tmp_path / "broken.png")
    with pytest.raises(DataError, match=r"train\.tsv:2: .*broken\.png"):
        list(PictureFiles(table, shape))
    table.write_text("a.jpg\t1 2 3\n")
    assert [one.fields["labels"] for one in PictureFiles(table, shape, 3)] == [["1", "2", "3"]]  # type: ignore[union-attr]
    assert isinstance(next(iter(PictureFiles(table, shape, 2).items())), BadLine)


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("data.side=27", "data.side"),
        ("data={format: drawn_digits, setting: pairs, side: 40}", "a side of at least 56"),
        ("data.setting=translatd", "data.setting"),
        ("data.nois=0", "did you mean noise?"),
        ("model.glimpses=0", "model.glimpses is 0"),
        ("model.cell=gru", "model.cell"),
        ("model.objects=2", "model.objects"),
        ("model.deviation=0", "model.deviation is 0"),
        ("evaluate.metrics=[pearson]", "pearson"),
        ("model={kind: fully_connected, glimpses: 3}", "model.glimpses"),
        ("train.class_weights=balanced", "class_weights"),
        ("model={kind: glimpse_network, policy: random, context: 7}", "policy 'learned'"),
    ],
)
def test_a_wrong_recipe_is_one_sentence(override: str, sentence: str) -> None:
    with pytest.raises(RecipeError) as raised:
        load("glimpses", [override])
    assert sentence in str(raised.value)
