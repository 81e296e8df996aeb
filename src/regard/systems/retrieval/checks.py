"""Cross-checks of retrieval recipes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.recipes.section import own_keys
from regard.systems.retrieval.sections import RetrievalDecoding, RetrievalTraining

if TYPE_CHECKING:
    from regard.recipes.sections import Recipe

CROSS = "cross_encoder"


def check_training(recipe: Recipe) -> None:
    """Check that training has negatives: explicit ones for a cross-encoder, in-batch ones for a dual encoder."""
    negatives = own_keys(recipe.train, RetrievalTraining).negatives
    if recipe.model.kind == CROSS and not negatives.count + negatives.random:
        raise ValueError(
            "negatives.count and negatives.random are 0, and a cross_encoder learns to tell a passage from wrong ones; "
            "set one of them to 1 or more"
        )
    if recipe.model.kind != CROSS and recipe.train.batch.sentences == 1:
        raise ValueError(
            "batch.sentences is 1, and a dual_encoder learns from the other passages of a batch; set it to 2 or more"
        )


def check_decoding(recipe: Recipe) -> None:
    """Check that a vector search has a dual encoder."""
    given = own_keys(recipe.decode, RetrievalDecoding)
    if recipe.model.kind != CROSS:
        if given.first is not None:
            raise ValueError(f"first is for a cross_encoder; a {recipe.model.kind} has vectors of its own")
    elif given.by in ("vectors", "hybrid") and given.first is None:
        raise ValueError(
            f"by is {given.by!r}, and a cross_encoder has no vectors; name a run with some: first=runs/dual"
        )
    elif given.by == "bm25" and given.first is not None:
        raise ValueError("by is 'bm25', and first names a run with vectors; leave one of them out")
