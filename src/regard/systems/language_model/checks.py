"""Cross-checks of recipes of language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.language_model.sections import Evaluating, Training

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe


def check_penalties(recipe: Recipe) -> None:
    """Activations are penalised in models that return them."""
    train = own_keys(recipe.train, Training)
    for name in ("activation_penalty", "temporal_penalty"):
        if getattr(train, name) and recipe.model.kind != "language_model":
            raise ValueError(
                f"{name} is for the model 'language_model'; the model is {recipe.model.kind!r}; leave it out"
            )


def check_dynamic(recipe: Recipe) -> None:
    """Dynamic evaluation reads one long text."""
    if own_keys(recipe.evaluate, Evaluating).dynamic is not None and recipe.train.batch.window is None:
        raise ValueError("dynamic is of a text that is read in windows; set train.batch.window, or leave it out")
