"""Baselines on the pictures of a recipe: the most frequent caption, and a caption of the nearest training picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Examples
from regard.data.pictures.reading import PictureShape
from regard.recipes.sections import Recipe
from regard.systems.captions.field import PicturesField
from regard.tasks.splits import examples

SIDE = 32
"""Pixels per side of compared pictures. Low resolution reduces the effect of small shifts and saves memory."""
_CHUNK = 2048


def pictured(found: Examples, shape: PictureShape) -> tuple[NDArray[np.uint8], list[list[str]]]:
    """Return the pixels of each distinct picture, [N, C * H * W], and its captions."""
    captions: dict[str, list[str]] = {}
    sources: list[Any] = []
    for example in found:
        picture = example.fields["picture"]
        if picture.name not in captions:
            captions[picture.name] = []
            sources.append(picture)
        captions[picture.name].append(str(example.fields["caption"]))
    field = PicturesField.of(shape)
    made = field.with_encoder(field.learn([]))
    chunks = (made.encode(sources[begin : begin + _CHUNK]) for begin in range(0, len(sources), _CHUNK))
    return np.concatenate([one["values"].values for one in chunks]).reshape(len(sources), -1), list(captions.values())


def nearest(known: NDArray[np.uint8], asked: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the index of the nearest known row for each query row, by squared Euclidean distance.

    >>> nearest(np.array([[0, 9], [200, 7]], np.uint8), np.array([[210, 0], [0, 0]], np.uint8)).tolist()
    [1, 0]
    """
    rows, best = asked.astype(np.float32), np.full(len(asked), np.inf, np.float32)
    found = np.zeros(len(asked), np.int64)
    for begin in range(0, len(known), _CHUNK):
        part = known[begin : begin + _CHUNK].astype(np.float32)
        # |x - y|² without |x|², which is constant per query and does not change the minimum.
        distances = np.square(part).sum(1) - 2.0 * rows @ part.T  # [N asked, chunk]
        nearer = distances.min(1) < best
        found[nearer] = begin + distances.argmin(1)[nearer]
        best = np.minimum(best, distances.min(1))
    return found


def baselines(recipe: Recipe) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield name and metrics of each baseline on the test split, or on the validation split if there is no test."""
    shape = recipe.data.picture_shape()  # type: ignore[attr-defined]  # of each section of this system
    if shape is None:
        raise SystemExit("the baselines compare pictures, and data.features are no pictures")
    train, test = examples(recipe, "train"), examples(recipe, "test") or examples(recipe, "valid")
    assert train is not None
    assert test is not None
    small = replace(shape, height=min(SIDE, shape.height), width=min(SIDE, shape.width))
    (known, learned), (asked, references) = pictured(train, small), pictured(test, small)
    frequent = Counter(caption for each in learned for caption in each).most_common(1)[0][0]
    said = {
        "most frequent": [frequent] * len(references),
        "nearest picture": [learned[place][0] for place in nearest(known, asked).tolist()],
    }
    for name, texts in said.items():
        yield name, {one.label: one(texts, references).value for one in recipe.metrics}
