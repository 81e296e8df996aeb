"""Recipe sections of glimpses: drawn digits, MNIST, and pictures in files."""

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
"""Pixels per side of a picture, where a recipe names none."""
GLYPH = 28
"""Pixels per side of one digit."""
DIGITS = tuple("0123456789")


class LabelledPictureSection(DataSection):
    """Data of labelled pictures, all of one shape.

    Attributes:
        light_on_dark: whether all pictures are light on dark; a dark one on light paper is then inverted.
        classes: all labels, where the format fixes them; None for those of the training data.
    """

    light_on_dark: ClassVar[bool] = True
    classes: ClassVar[tuple[str, ...] | None] = DIGITS

    @property
    @abc.abstractmethod
    def most_labels(self) -> int:
        """The most labels that one picture has."""

    @abc.abstractmethod
    def shape(self) -> PictureShape:
        """Return the shape that all pictures are brought to."""


class DigitSection(LabelledPictureSection):
    """Keys of digits on a canvas."""

    setting: Setting = "plain"
    """One digit in the centre; `translated`, at a random place; `cluttered`, translated among pieces of other digits;
    or `pairs`, two digits with two labels."""
    side: int | None = Field(None, ge=GLYPH, le=1024)
    """Pixels per side of a picture; None for 28 (plain), 60 (translated, cluttered) or 100 (pairs)."""
    clutter: int | None = Field(None, ge=0, le=64)
    """Pieces of other digits in a picture; None for 4 where it is cluttered, and 0 elsewhere."""
    patch: int = Field(8, ge=1, le=GLYPH)
    """Pixels per side of such a piece."""
    order: Literal["places", "values"] = "places"
    """Order of the two labels of a pair: from left to right, or the smaller digit first, as 55 classes have it."""
    seed: int = Field(0, ge=0)
    """Another seed, other pictures."""

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
    """Digits in strokes of a pen, each drawn in another hand; generated."""

    made: ClassVar[str] = "regard.systems.glimpses.drawn_digits:DrawnDigits"

    format: Literal["drawn_digits"]
    """Selects this format."""
    train_size: int = Field(8000, ge=1)
    """Number of pictures to learn from."""
    valid_size: int = Field(500, ge=1)
    """Number of pictures to validate on."""
    test_size: int = Field(2000, ge=1)
    """Number of pictures to test on."""
    noise: float = Field(0.1, ge=0, le=1)
    """Standard deviation of the noise of a pixel, of the range from black to white."""

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments of a split."""
        size = getattr(self, f"{split}_size")
        return {"split": split, "size": size, "noise": self.noise, "seed": self.seed, **self.canvas()}


class MnistData(DigitSection):
    """The MNIST digits in one .npz file with the arrays x_train, y_train, x_test and y_test."""

    format: Literal["mnist"]
    """Selects this format."""
    root: Path | None = None
    """The folder that the file is in; None for the folder you are in."""
    file: DataFile = "mnist.npz"
    """The file."""
    train_size: int | None = Field(None, ge=1)
    """Number of digits to learn from, the first ones; None for all but those of the validation."""
    valid_size: int = Field(5000, ge=1)
    """Number of digits to validate on: the last of x_train."""
    copies: int = Field(1, ge=1, le=64)
    """Pictures that are made of each digit to learn from, each with another place and other clutter."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples:
        from regard.systems.glimpses.mnist import Mnist

        path = (self.root or Path()) / self.file
        sizes = self.model_dump(include={"train_size", "valid_size", "copies", "seed"})
        return Mnist(path, split, **sizes, **self.canvas())


class LabelledPicturesData(SplitFiles, LabelledPictureSection):
    """A picture per line: the name of its file, a tab, its label."""

    light_on_dark: ClassVar[bool] = False
    classes: ClassVar[tuple[str, ...] | None] = None

    format: Literal["pictures"]
    """Selects this format."""
    height: int = Field(64, ge=1, le=1024)
    """Pixels that pictures are brought to, from top to bottom."""
    width: int = Field(64, ge=1, le=1024)
    """The same from left to right."""
    channels: Literal[1, 3] = 1
    """1 for grey, 3 for colours."""
    fit: Literal["crop", "pad", "stretch"] = "pad"
    """How a picture of another shape is fitted: its edges are cut off, it gets edges, or it is stretched."""
    objects: int = Field(1, ge=1, le=32)
    """The most labels of a picture, with spaces between them; of 1, the rest of the line is one label."""

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
    """Return the section `data`."""
    assert isinstance(recipe.data, LabelledPictureSection)
    return recipe.data


def default_metrics(recipe: Recipe) -> Sequence[str]:
    """Return the metrics of one label per picture, or of a sequence of them."""
    return ("accuracy",) if section_of(recipe).most_labels == 1 else ("exact_match", "wer")


def metric_options(recipe: Recipe, metric: Metric) -> Mapping[str, Any]:
    """Return the options of metrics of labels: a picture's only label may have spaces in it."""
    return {"whole": section_of(recipe).most_labels == 1} if metric.compares == "labels" else {}
