"""Recipe sections of glimpses: drawn digits, MNIST, and picture files."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from regard.recipes.data_section import DataSection, FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import SplitFiles
from regard.recipes.files import DataFile

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.data.pictures.reading import PictureShape
    from regard.evaluate.metrics import Metric
    from regard.recipes.sections import Recipe


Setting = Literal["plain", "translated", "cluttered", "pairs"]
SIDES: dict[Setting, int] = {"plain": 28, "translated": 60, "cluttered": 60, "pairs": 100}
"""Default pixels per side of a picture."""
GLYPH = 28
"""Pixels per side of one digit."""
DIGITS = tuple("0123456789")


class LabelledPictureSection(DataSection):
    """Labelled pictures of one shape.

    Attributes:
        light_on_dark: True if all pictures are light on dark; an input that is dark on light is then inverted.
        classes: all labels, if the format fixes them; None to collect them from the training data.
    """

    light_on_dark: ClassVar[bool] = True
    classes: ClassVar[tuple[str, ...] | None] = DIGITS

    @property
    @abc.abstractmethod
    def most_labels(self) -> int:
        """Maximum number of labels per picture."""

    @abc.abstractmethod
    def shape(self) -> PictureShape:
        """Return the target shape of all pictures."""


class DigitSection(LabelledPictureSection):
    """Keys of digits on a canvas."""

    setting: Setting = "plain"
    """Placement of the digits: `plain`, one digit in the centre; `translated`, one at a random position; `cluttered`,
    translated among pieces of other digits; `pairs`, two digits with two labels."""
    side: int | None = Field(None, ge=GLYPH, le=1024)
    """Pixels per side of a picture; None for 28 (plain), 60 (translated, cluttered) or 100 (pairs)."""
    clutter: int | None = Field(None, ge=0, le=64)
    """Number of pieces of other digits per picture; None for 4 if cluttered and 0 otherwise."""
    patch: int = Field(8, ge=1, le=GLYPH)
    """Pixels per side of a clutter piece."""
    order: Literal["places", "values"] = "places"
    """Order of the two labels of a pair: `places`, from left to right, or `values`, the smaller digit first, which
    leaves 55 distinct pairs."""
    seed: int = Field(0, ge=0)
    """Seed of the pictures."""

    @model_validator(mode="after")
    def _roomy(self) -> DigitSection:
        if self.setting == "pairs" and self.pixels < 2 * GLYPH:
            raise ValueError(f"a pair of digits needs a side of at least {2 * GLYPH} pixels; got {self.side}")
        return self

    @property
    def pixels(self) -> int:
        """Pixels per side of a picture."""
        return SIDES[self.setting] if self.side is None else self.side

    @property
    def most_labels(self) -> int:
        return 2 if self.setting == "pairs" else 1

    def shape(self) -> PictureShape:
        from regard.data.pictures.reading import PictureShape

        return PictureShape(height=self.pixels, width=self.pixels, channels=1, fit="pad")

    def canvas(self) -> dict[str, Any]:
        """Return the arguments of a `Canvas`."""
        clutter = self.clutter if self.clutter is not None else 4 if self.setting == "cluttered" else 0
        return {"side": self.pixels, "clutter": clutter, **self.model_dump(include={"setting", "patch", "order"})}


class DrawnDigitsData(DigitSection, GeneratedData):
    """Digits drawn with random pen strokes; generated."""

    made: ClassVar[str] = "regard.systems.glimpses.drawn_digits:DrawnDigits"

    format: Literal["drawn_digits"]
    """Selects this format."""
    train_size: int = Field(8000, ge=1)
    """Number of training pictures."""
    valid_size: int = Field(500, ge=1)
    """Number of validation pictures."""
    test_size: int = Field(2000, ge=1)
    """Number of test pictures."""
    noise: float = Field(0.1, ge=0, le=1)
    """Standard deviation of the pixel noise, as a fraction of the range from black to white."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the generator arguments of a split."""
        size = getattr(self, f"{split}_size")
        return {"split": split, "size": size, "noise": self.noise, "seed": self.seed, **self.canvas()}


class MnistData(DigitSection):
    """The MNIST digits in one .npz file with the arrays x_train, y_train, x_test and y_test."""

    format: Literal["mnist"]
    """Selects this format."""
    root: Path | None = None
    """Folder of the file; None for the working directory."""
    file: DataFile = "mnist.npz"
    """Name of the file."""
    train_size: int | None = Field(None, ge=1)
    """Number of training digits, the first of x_train; None for all except the validation digits."""
    valid_size: int = Field(5000, ge=1)
    """Number of validation digits, the last of x_train."""
    copies: int = Field(1, ge=1, le=64)
    """Number of training pictures generated per digit, each with a different position and clutter."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples:
        from regard.systems.glimpses.mnist import Mnist

        path = (self.root or Path()) / self.file
        sizes = self.model_dump(include={"train_size", "valid_size", "copies", "seed"})
        return Mnist(path, split, **sizes, **self.canvas())


class LabelledPicturesData(SplitFiles, LabelledPictureSection):
    """Picture files in a table: one line per picture with its file name, a tab, and its labels."""

    light_on_dark: ClassVar[bool] = False
    classes: ClassVar[tuple[str, ...] | None] = None

    format: Literal["pictures"]
    """Selects this format."""
    height: int = Field(64, ge=1, le=1024)
    """Target height of the pictures in pixels."""
    width: int = Field(64, ge=1, le=1024)
    """Target width of the pictures in pixels."""
    channels: Literal[1, 3] = 1
    """Number of channels: 1 for greyscale, 3 for colour."""
    fit: Literal["crop", "pad", "stretch"] = "pad"
    """Resizing of pictures with another aspect ratio: crop their edges, pad them, or stretch them."""
    objects: int = Field(1, ge=1, le=32)
    """Maximum number of labels per picture, separated by spaces; with 1, the rest of the line is one label."""

    @property
    def most_labels(self) -> int:
        return self.objects

    def shape(self) -> PictureShape:
        from regard.data.pictures.reading import PictureShape

        return PictureShape(**self.model_dump(include={"height", "width", "channels", "fit"}))

    def reader(self, named: str, reading: FieldLayout) -> Any:
        from regard.systems.glimpses.picture_files import PictureFiles

        return PictureFiles(self._path(named), self.shape(), self.objects, **self.reading())


def section_of(recipe: Recipe) -> LabelledPictureSection:
    """Return the section `data` of a recipe."""
    assert isinstance(recipe.data, LabelledPictureSection)
    return recipe.data


def default_metrics(recipe: Recipe) -> Sequence[str]:
    """Return the default metrics for one label per picture, or for label sequences."""
    return ("accuracy",) if section_of(recipe).most_labels == 1 else ("exact_match", "wer")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of label metrics: the only label of a picture may contain spaces."""
    return {"whole": section_of(recipe).most_labels == 1} if metric.compares == "labels" else {}
