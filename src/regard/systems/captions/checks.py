"""Cross-checks of recipes that write captions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.captions.sections import CaptionTraining

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


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
