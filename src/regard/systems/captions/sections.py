"""Recipe sections of captions: data, and keys of its own in `train` and `decode`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from pydantic import Field

from regard.recipes.data_section import FieldLayout, GeneratedData, SplitName
from regard.recipes.data_sections import Files, SplitFiles
from regard.recipes.files import DataFile
from regard.recipes.section import Section, own_keys

if TYPE_CHECKING:
    from regard.data.example import DataReader, Examples
    from regard.data.pictures.reading import PictureShape
    from regard.recipes.sections import Recipe


class PictureSection(Protocol):
    """A section `data` of pictures."""

    def picture_shape(self) -> PictureShape | None:
        """Return the shape that all pictures are brought to; None for feature maps, which are taken as they are."""


class HardSection(Section):
    """Training of hard attention by the score-function estimator."""

    baseline: Literal["moving", "others", "none"] = "moving"
    """What is subtracted from the reward: `moving`, an average over the captions of earlier batches (Xu et al. 2015);
    `others`, the mean over the other captions of the batch, with the words from each draw on as its reward; `none`."""
    reward: float = Field(1.0, ge=0)
    """Weight of the reward; 0.1 in the authors' program."""
    entropy: float = Field(0.002, ge=0)
    """Weight of the entropy of the draws, which is maximised."""


class PictureAugmentSection(Section):
    """Random changes of pictures in training, anew in each epoch."""

    crop: float = Field(1.0, gt=0, le=1)
    """The least share of each side that a crop keeps; the crop is stretched to the whole picture again."""
    flip: bool = False
    """Half of the pictures are mirrored, left to right; not for captions that say left and right."""
    brightness: float = Field(0.0, ge=0, le=1)
    """Share by which all values are multiplied at most, up or down."""
    contrast: float = Field(0.0, ge=0, le=1)
    """Likewise for distances from the picture's mean grey."""
    saturation: float = Field(0.0, ge=0, le=1)
    """Likewise for distances of each pixel from its own grey."""


class CaptionTraining(Section):
    """Keys of `train` that belong to captions."""

    augment: PictureAugmentSection | None = None
    """Random crops, flips and colours; null for none."""

    doubly_stochastic: float = Field(0.0, ge=0)
    """Weight of the penalty on regions whose weights do not sum to 1 over the words of a caption; 1 in the paper."""
    confidence: Literal["caption", "words"] | None = "caption"
    """What a confidence is the probability of, which is calibrated on the validation data at the end: that the whole
    `caption` is one of the right ones, or that a word of it is, in the `words` of the right ones; null for none."""
    hard: HardSection = HardSection()
    """How hard attention learns where to look; other attention has no use for it."""


class CaptionDecoding(Section):
    """Keys of `decode` that belong to captions."""

    hedge: float = Field(0.0, ge=0, le=1)
    """Answers whose confidence is below this begin with "I am not really confident, but"; 0 for none. Measurements are
    of the captions alone."""


class ScenesData(GeneratedData):
    """Pictures of coloured shapes, drawn on the spot, with captions from a grammar."""

    made: ClassVar[str] = "regard.systems.captions.scenes:Scenes"

    format: Literal["scenes"]
    """Selects this kind of data."""
    train_size: int = Field(8000, ge=1)
    """Number of pictures to learn from, each with one of its captions."""
    valid_size: int = Field(1000, ge=1)
    """Number of captions to validate on, four per picture."""
    test_size: int = Field(4000, ge=1)
    """Number of captions to test on, four per picture; no combination of things in them is learned from."""
    seed: int = 0
    """Another seed, other pictures."""
    noise: float = Field(5.0, ge=0, le=100)
    """Standard deviation of the noise of each value, of 255."""

    def picture_shape(self) -> PictureShape | None:
        from regard.data.pictures.reading import PictureShape
        from regard.systems.captions.scenes import SIDE

        return PictureShape(height=SIDE, width=SIDE)


class PictureShapeKeys(Section):
    """Keys of pictures in files."""

    height: int = Field(128, ge=1, le=4096)
    """Height that all pictures are brought to, in pixels."""
    width: int = Field(128, ge=1, le=4096)
    """Width likewise."""
    channels: Literal[1, 3] = 3
    """3 for colours, 1 for grey."""
    fit: Literal["crop", "pad", "stretch"] = "crop"
    """How a picture of another ratio is brought to that shape: cut off, surrounded by black, or distorted."""

    def picture_shape(self) -> PictureShape | None:
        """Return the shape that all pictures are brought to."""
        from regard.data.pictures.reading import PictureShape

        return PictureShape(height=self.height, width=self.width, channels=self.channels, fit=self.fit)


class CaptionedPicturesData(SplitFiles, PictureShapeKeys):
    """A picture and a caption per line: `dog.jpg<TAB>a dog runs`, or JSON with `picture` and `caption`."""

    format: Literal["pictures"]
    """Selects this kind of data."""
    folder: Path | None = None
    """Folder, or zip archive, that the names of pictures are in; None for the folder of each file."""
    features: bool = False
    """Whether the files are feature maps, `.npy` of regions [S, C] or [C, H, W], in place of pictures."""

    def picture_shape(self) -> PictureShape | None:
        return None if self.features else super().picture_shape()

    def reader(self, named: str, reading: FieldLayout) -> DataReader:
        from regard.systems.captions.pictures import Pictures

        return Pictures(self._path(named), self.folder, **self.reading())


class Flickr8kData(Files, PictureShapeKeys):
    """Flickr8k: an archive of pictures, their captions as JSON, and the lists of the splits."""

    format: Literal["flickr8k"]
    """Selects this kind of data."""
    images: DataFile = "images_128px_jpeg.zip"
    """Archive of the pictures."""
    captions: DataFile = "captions.json.gz"
    """Captions by the name of the picture: `{"1.jpg": ["a dog", ...]}`, `.gz` or not."""
    train: DataFile = "Flickr_8k.trainImages.txt"
    """Names of the pictures to learn from."""
    valid: DataFile = "Flickr_8k.devImages.txt"
    """Names of the pictures to validate on."""
    test: DataFile | None = "Flickr_8k.testImages.txt"
    """Names of the pictures to test on; None for no test."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.captions.pictures import Flickr8k

        named: Any = getattr(self, split)
        if named is None:
            return None
        root = self.root or Path()
        return Flickr8k(root / named, root / self.captions, root / self.images, **self.reading())


def check_training(recipe: Recipe) -> None:
    """A penalty on attention needs attention, and random crops and colours need pictures."""
    train = own_keys(recipe.train, CaptionTraining)
    if train.augment is not None and recipe.data.picture_shape() is None:  # type: ignore[attr-defined]
        raise ValueError("augment changes pictures, and data.features are feature maps; remove train.augment")
    if train.doubly_stochastic and recipe.model.attention == "none":
        raise ValueError("doubly_stochastic is a penalty on attention; the model has attention 'none', set it to 0")


def check_decoding(recipe: Recipe) -> None:
    """Coverage counts what was attended to."""
    if recipe.search().coverage and recipe.model.attention == "none":
        raise ValueError("coverage is of a model that attends to its source; this one has attention 'none'")
