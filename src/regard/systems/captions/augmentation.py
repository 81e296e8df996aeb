"""Random changes of pictures in training: crops, flips, colours."""

from __future__ import annotations

from dataclasses import dataclass, replace

from regard.data.batching.batch import Batch
from regard.data.pictures.augmentation import PictureAugmentation


@dataclass(frozen=True)
class AugmentedPictures:
    """Changes of the pictures of a batch; an example with another caption of a picture is changed in another way.

    Attributes:
        changes: crops, flips and colours.
        seed: of the run.
        field: the pictures, [B, C, H, W].

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
