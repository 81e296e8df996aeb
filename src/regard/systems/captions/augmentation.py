"""Random crops, flips and colour changes of pictures, determined by seed, epoch and example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from regard.data.batching.batch import Batch
from regard.data.random_draws import uniform_draws

_STREAM = 0x9C70  # makes these draws independent of others with the same seed, epoch and example
_DRAWS = 7


@dataclass(frozen=True, kw_only=True)
class PictureAugmentation:
    r"""Random augmentation of training pictures.

    The changes depend on seed, epoch and example only, not on the batch, so a resumed run gives the same result. A
    batch is augmented in one pass, on the device of the pictures.

    Attributes:
        crop: smallest fraction of each side that a crop keeps; the crop is resized to the full picture. 1 disables
            cropping.
        flip: mirror half of the pictures horizontally. Unsuitable for digits and for captions with left and right.
        brightness: strength b; all values are multiplied by a factor from 1 - b to 1 + b.
        contrast: strength c; differences to the mean grey of the picture are multiplied by a factor from 1 - c to
            1 + c.
        saturation: strength s; differences of each pixel to its grey value are multiplied by a factor from 1 - s to
            1 + s.

    >>> pictures = torch.arange(2 * 3 * 5 * 7, dtype=torch.uint8).reshape(2, 3, 5, 7)
    >>> changed = PictureAugmentation(crop=0.8, flip=True)(pictures, [3, 11], seed=1, epoch=0)
    >>> changed.shape, changed.dtype
    (torch.Size([2, 3, 5, 7]), torch.uint8)
    """

    crop: float = 1.0
    flip: bool = False
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.crop <= 1.0:
            raise ValueError(f"picture augmentation: crop must lie in (0, 1]; got {self.crop}")
        for name in ("brightness", "contrast", "saturation"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"picture augmentation: {name} must lie in [0, 1]; got {getattr(self, name)}")

    def __call__(self, pictures: Tensor, examples: Sequence[int], *, seed: int, epoch: int) -> Tensor:
        """Change pictures [B, C, H, W], uint8 or floats in [0, 1], and return them in the same dtype.

        Args:
            pictures: batch of pictures, C is 1 or 3.
            examples: [B], index of each example in its data set.
            seed: random seed of the run.
            epoch: number of the epoch.
        """
        if pictures.dim() != 4 or pictures.shape[1] not in (1, 3) or len(examples) != len(pictures):
            raise ValueError(
                "picture augmentation: pictures must be [B, C, H, W] with C = 1 or 3 and one index per picture; "
                f"got {list(pictures.shape)} and {len(examples)} indices"
            )
        draws = torch.from_numpy(uniform_draws(examples, _DRAWS, seed, epoch, _STREAM)).to(pictures.device)  # [B, 7]
        # Half precision is too coarse for pixel coordinates.
        working = pictures.dtype if pictures.dtype in (torch.float32, torch.float64) else torch.float32
        values = pictures.to(working) / (1.0 if pictures.is_floating_point() else 255.0)
        values = self._colours(self._places(values, draws[:, :4]), draws[:, 4:].to(working)).clamp(0.0, 1.0)
        return values.to(pictures.dtype) if pictures.is_floating_point() else (values * 255.0).round().to(torch.uint8)

    def _places(self, values: Tensor, draws: Tensor) -> Tensor:
        """Crop and flip [B, C, H, W] in one resampling, so that the picture is blurred only once."""
        if self.crop == 1.0 and not self.flip:
            return values
        share = self.crop + (1.0 - self.crop) * draws[:, 0]
        right, down = ((1.0 - share) * (2.0 * draws[:, column] - 1.0) for column in (1, 2))
        mirror = torch.where(draws[:, 3] < 0.5, -1.0, 1.0) if self.flip else torch.ones_like(share)
        zero = torch.zeros_like(share)
        rows = [torch.stack((mirror * share, zero, right), 1), torch.stack((zero, share, down), 1)]
        turns = torch.stack(rows, 1).to(values.dtype)  # [B, 2, 3]
        grid = F.affine_grid(turns, list(values.shape), align_corners=False)
        return F.grid_sample(values, grid, mode="bilinear", padding_mode="border", align_corners=False)

    def _colours(self, values: Tensor, draws: Tensor) -> Tensor:
        brightness, contrast, saturation = (
            (1.0 + strength * (2.0 * draws[:, column] - 1.0))[:, None, None, None]
            for column, strength in enumerate((self.brightness, self.contrast, self.saturation))
        )
        if self.brightness:
            values = (values * brightness).clamp(0.0, 1.0)
        if self.contrast:
            values = torch.lerp(_grey(values).mean((2, 3), keepdim=True), values, contrast).clamp(0.0, 1.0)
        if self.saturation and values.shape[1] == 3:
            values = torch.lerp(_grey(values), values, saturation)
        return values


def _grey(values: Tensor) -> Tensor:
    """Return the luma of ITU-R BT.601, [B, 1, H, W]."""
    if values.shape[1] == 1:
        return values
    red, green, blue = values.unbind(1)
    return (0.299 * red + 0.587 * green + 0.114 * blue).unsqueeze(1)


@dataclass(frozen=True)
class AugmentedPictures:
    """Batch transform that augments the pictures. Examples with the same picture but another caption differ.

    Attributes:
        changes: crops, flips and colour changes.
        seed: random seed of the run.
        field: name of the tensor of pictures [B, C, H, W].

    >>> import torch
    >>> batch = Batch({"picture": torch.rand(2, 3, 5, 7)}, (3, 11), 6)
    >>> changed = AugmentedPictures(PictureAugmentation(crop=0.8), seed=1)(batch, epoch=0)
    >>> changed["picture"].shape, bool((changed["picture"] == batch["picture"]).all())
    (torch.Size([2, 3, 5, 7]), False)
    """

    changes: PictureAugmentation
    seed: int
    field: str = "picture"

    def __call__(self, batch: Batch, epoch: int) -> Batch:
        pictures = self.changes(batch[self.field], batch.indices, seed=self.seed, epoch=epoch)
        return replace(batch, tensors={**batch.tensors, self.field: pictures})

    def __str__(self) -> str:
        return "changed pictures"
