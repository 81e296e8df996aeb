"""Baselines of melodies: character n-gram models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.data.word_ngrams import WordNGrams
from regard.recipes.sections import Recipe
from regard.tasks.splits import examples
from regard.tasks.tokenizers import field_values

ORDERS = (3, 4, 5, 6, 7)


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield Witten-Bell n-gram models with nats per character on the test split, or on valid if there is no test."""
    train = examples(recipe, "train")
    measured = examples(recipe, "test") or examples(recipe, "valid")
    assert train is not None
    assert measured is not None
    known, asked = ([str(text) for text in field_values(part, "text")] for part in (train, measured))
    for order in ORDERS:
        yield f"{order}-grams", {"nats per character": character_nats(known, asked, order=order)}


def character_nats(known: Sequence[str], asked: Sequence[str], *, order: int) -> float:
    """Return the mean -log p per character under n-grams of other texts; the end of a text counts as a character.

    Args:
        known: texts in which n-grams are counted.
        asked: texts to score; all characters unseen in `known` are treated as one.
        order: n.

    >>> round(character_nats(["aab"], ["a"], order=1), 4)       # p(a) = (2 + 3 / 4) / (4 + 3), p(end) = (1 + 3 / 4) / 7
    1.1603
    """
    numbers = {character: number for number, character in enumerate(sorted({*"".join(known)}))}
    end, unknown = len(numbers), len(numbers) + 1

    def numbered(texts: Sequence[str]) -> list[list[int]]:
        return [[*(numbers.get(character, unknown) for character in text), end] for text in texts]

    model = WordNGrams.of(numbered(known), unknown + 1, order=order)
    return float(-model.log_probs(numbered(asked)).sum() / sum(len(text) + 1 for text in asked))
