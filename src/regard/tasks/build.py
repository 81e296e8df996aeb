"""The model of a recipe, from its section and the sizes that the data decide."""

from __future__ import annotations

from typing import Any

from torch import nn

from regard.models.build import construct
from regard.parts import imported
from regard.recipes.section import Model


def build_model(section: Model, source_size: int, target_size: int | None, **arguments: Any) -> nn.Module:
    """Return the model that a section describes.

    Args:
        section: of the recipe.
        source_size: number of source ids, or width of what is read.
        target_size: number of target ids; None where they are the same or there are none.
        arguments: in the place of those of the section, where any are given.
    """
    return construct(section.kind, imported(section.place), source_size, target_size, arguments or section.arguments())
