"""Recipe sections of captioning: data, and task-specific keys of `train` and `decode`."""

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
    """Protocol of a `data` section with pictures."""

    def picture_shape(self) -> PictureShape | None:
        """Return the shape that all pictures are resized to; None for feature maps, which are not resized."""


class HardSection(Section):
    """Training of hard attention by the score-function estimator."""

    baseline: Literal["moving", "others", "none"] = "moving"
    """Baseline subtracted from the reward: `moving`, the moving average over earlier batches (Xu et al. 2015);
    `others`, the mean over the other captions of the batch, with reward-to-go for each draw; or `none`."""
    reward: float = Field(1.0, ge=0)
    """Weight of the reward; 0.1 in the authors' code."""
    entropy: float = Field(0.002, ge=0)
    """Weight of the entropy of the attention distribution, which is maximised."""


class PictureAugmentSection(Section):
    """Random augmentation of training pictures, redrawn in each epoch."""

    crop: float = Field(1.0, gt=0, le=1)
    """Smallest fraction of each side that a random crop keeps; the crop is resized to the full picture."""
    flip: bool = False
    """Mirror half of the pictures horizontally; unsuitable for captions that mention left and right."""
    brightness: float = Field(0.0, ge=0, le=1)
    """Largest relative change of brightness: values are multiplied by a random factor from 1 - b to 1 + b."""
    contrast: float = Field(0.0, ge=0, le=1)
    """Largest relative change of contrast, the difference of each value to the mean grey of the picture."""
    saturation: float = Field(0.0, ge=0, le=1)
    """Largest relative change of saturation, the difference of each pixel to its grey value."""


class CaptionTraining(Section):
    """Keys of `train` for captioning."""

    augment: PictureAugmentSection | None = None
    """Random crops, flips and colour changes; null for none."""

    doubly_stochastic: float = Field(0.0, ge=0)
    """Weight of the penalty on regions whose attention does not sum to 1 over a caption; 1 in the paper."""
    confidence: Literal["caption", "words"] | None = "caption"
    """Confidence of answers, calibrated on the validation data after training: the probability that the `caption`
    equals a reference, or that one of its `words` occurs in a reference; null for none."""
    hard: HardSection = HardSection()
    """Training of hard attention; ignored for other kinds of attention."""


class CaptionDecoding(Section):
    """Keys of `decode` for captioning."""

    hedge: float = Field(0.0, ge=0, le=1)
    """Confidence below which an answer starts with "I am not really confident, but"; 0 for never. Metrics ignore this
    prefix."""


class ScenesData(GeneratedData):
    """Generated pictures of coloured shapes, with captions from a grammar."""

    made: ClassVar[str] = "regard.systems.captions.scenes:Scenes"

    format: Literal["scenes"]
    """Selects this kind of data."""
    train_size: int = Field(8000, ge=1)
    """Number of training pictures, each with one of its captions."""
    valid_size: int = Field(1000, ge=1)
    """Number of validation captions, four per picture."""
    test_size: int = Field(4000, ge=1)
    """Number of test captions, four per picture; their scenes do not occur in training."""
    seed: int = 0
    """Random seed of the pictures."""
    noise: float = Field(5.0, ge=0, le=100)
    """Standard deviation of the noise, for values from 0 to 255."""

    def picture_shape(self) -> PictureShape | None:
        from regard.data.pictures.reading import PictureShape
        from regard.systems.captions.scenes import SIDE

        return PictureShape(height=SIDE, width=SIDE)


class PictureShapeKeys(Section):
    """Shape of pictures that are read from files."""

    height: int = Field(128, ge=1, le=4096)
    """Height that all pictures are resized to, in pixels."""
    width: int = Field(128, ge=1, le=4096)
    """Width that all pictures are resized to, in pixels."""
    channels: Literal[1, 3] = 3
    """Number of channels: 3 for colour, 1 for grey."""
    fit: Literal["crop", "pad", "stretch"] = "crop"
    """Resizing of pictures with another aspect ratio: crop the excess, pad with black, or stretch."""

    def picture_shape(self) -> PictureShape | None:
        """Return the shape that all pictures are resized to."""
        from regard.data.pictures.reading import PictureShape

        return PictureShape(height=self.height, width=self.width, channels=self.channels, fit=self.fit)


class CaptionedPicturesData(SplitFiles, PictureShapeKeys):
    """Files with one picture and caption per line: `dog.jpg<TAB>a dog runs`, or JSON with `picture` and `caption`."""

    format: Literal["pictures"]
    """Selects this kind of data."""
    folder: Path | None = None
    """Folder or zip archive that picture names refer to; None for the folder of each file."""
    features: bool = False
    """Read precomputed feature maps instead of pictures: `.npy` files of regions [S, C] or [C, H, W]."""

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
    """JSON file of captions by name of the picture, `{"1.jpg": ["a dog", ...]}`; may be compressed (`.gz`)."""
    train: DataFile = "Flickr_8k.trainImages.txt"
    """File with the names of the training pictures."""
    valid: DataFile = "Flickr_8k.devImages.txt"
    """File with the names of the validation pictures."""
    test: DataFile | None = "Flickr_8k.testImages.txt"
    """File with the names of the test pictures; None for no test."""

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        from regard.systems.captions.pictures import Flickr8k

        named: Any = getattr(self, split)
        if named is None:
            return None
        root = self.root or Path()
        return Flickr8k(root / named, root / self.captions, root / self.images, **self.reading())


def check_training(recipe: Recipe) -> None:
    """Check that `doubly_stochastic` is used with attention, and `augment` with pictures."""
    train = own_keys(recipe.train, CaptionTraining)
    if train.augment is not None and recipe.data.picture_shape() is None:  # type: ignore[attr-defined]
        raise ValueError("augment changes pictures, and data.features are feature maps; remove train.augment")
    if train.doubly_stochastic and recipe.model.attention == "none":
        raise ValueError("doubly_stochastic is a penalty on attention; the model has attention 'none', set it to 0")


def check_decoding(recipe: Recipe) -> None:
    """Check that a coverage penalty is used with attention."""
    if recipe.search().coverage and recipe.model.attention == "none":
        raise ValueError("coverage is of a model that attends to its source; this one has attention 'none'")
