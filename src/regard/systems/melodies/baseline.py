"""Baselines of melodies: n-grams of characters."""

from __future__ import annotations

from collections.abc import Iterator

from regard.recipes.sections import Recipe
from regard.systems.melodies.ngrams import NGrams
from regard.tasks.splits import examples
from regard.tasks.tokenizers import field_values

ORDERS = (3, 4, 5, 6, 7)


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield n-grams with Witten-Bell smoothing and their nats per character on test, or on valid without a test."""
    train = examples(recipe, "train")
    measured = examples(recipe, "test") or examples(recipe, "valid")
    assert train is not None
    assert measured is not None
    known, asked = ([str(text) for text in field_values(part, "text")] for part in (train, measured))
    for order in ORDERS:
        yield f"{order}-grams", {"nats per character": NGrams(known, order=order).nats(asked)}
