"""Generated pictures of coloured shapes, with captions from a grammar."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.example import Example
from regard.data.generated import Generated
from regard.data.hash_split import Part
from regard.data.problems import DataError
from regard.systems.captions.field import PictureSource

SIDE = 32
"""Height and width of a picture, in pixels."""
SHAPES = ("circle", "square", "triangle", "cross")
SIZES = {"small": 3.6, "large": 6.2}
"""Half the width of an object, in pixels."""
COLOURS = {
    "red": (215, 50, 45),
    "green": (45, 175, 60),
    "blue": (60, 90, 230),
    "yellow": (230, 205, 50),
    "white": (235, 235, 235),
}
COUNTS = ("two", "three", "four")
CAPTIONS = 4
"""Captions per picture."""

_PARTS: tuple[Part, ...] = ("train", "valid", "test")
_BACK = 45.0  # grey of the background
Places = list[tuple[float, float]]
Pixels = NDArray[np.uint8]


class Thing(NamedTuple):
    """Object of a scene: size, colour and shape, in the words of the captions."""

    size: str
    colour: str
    shape: str

    def __str__(self) -> str:
        return " ".join(self)


@dataclass(frozen=True)
class Scene:
    """Contents of a picture: two objects beside or above each other, or several equal ones.

    Attributes:
        kind: "beside" or "above" for two objects, "count" for several equal ones.
        things: objects from left to right or from top to bottom; for "count", the object repeated.

    >>> Scene("beside", (Thing("small", "red", "circle"), Thing("large", "blue", "cross"))).captions()[1]
    'a large blue cross right of a small red circle'
    """

    kind: str
    things: tuple[Thing, ...]

    def captions(self) -> tuple[str, str, str, str]:
        """Return all captions; the first is unique to the scene, so that splits are assigned by it."""
        if self.kind == "count":
            many = f"{COUNTS[len(self.things) - 2]} {self.things[0]}{'es' if self.things[0].shape == 'cross' else 's'}"
            return many, f"there are {many}", f"a group of {many}", f"you can see {many}"
        first, second = self.things
        there, back = ("left of", "right of") if self.kind == "beside" else ("above", "below")
        forth, converse = f"a {first} {there} a {second}", f"a {second} {back} a {first}"
        return forth, converse, f"there is {forth}", f"there is {converse}"

    def places(self, rng: np.random.Generator) -> Places:
        """Draw the centre (y, x) of each object in pixels."""
        middle, jitter = SIDE / 2, rng.uniform(-1, 1, (len(self.things), 2))
        if self.kind == "count":
            corners = rng.permutation([(9.0, 9.0), (9.0, 23.0), (23.0, 9.0), (23.0, 23.0)])[: len(self.things)]
            return [(y, x) for y, x in (corners + 2.0 * jitter).tolist()]
        along = [place + 2.0 * shift for place, shift in zip((9.0, SIDE - 9.0), jitter[:, 0].tolist(), strict=True)]
        line = middle + rng.uniform(-5, 5)
        across = [line + 2.0 * shift for shift in jitter[:, 1].tolist()]
        both = zip(along, across, strict=True)
        return [(one, other) if self.kind == "above" else (other, one) for one, other in both]


@dataclass(frozen=True)
class Scenes(Generated):
    """Generated pictures with captions: "a small red circle left of a large blue cross".

    A picture shows two different objects beside or above each other, or two to four equal ones. An object has one of
    four shapes, five colours and two sizes. Positions, brightness and noise are random. Every picture has four correct
    captions. A training example is a picture with one of them; in valid and test, each picture occurs four times in
    a row, once per caption. Splits share no scenes, regardless of positions: 80% are in train, 10% in valid and test.

    Args:
        split: "train", "valid" or "test".
        size: number of examples.
        seed: random seed of the pictures.
        noise: standard deviation of the noise, for values from 0 to 255.

    >>> example = Scenes("test", size=4)[2]
    >>> example.fields["caption"], example.fields["picture"].source.shape
    ('there is a small green square above a small green cross', (3, 32, 32))
    """

    split: Part = "train"
    size: int = field(default=8000, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    noise: float = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        self.check_split()
        if self.size < 1 or self.noise < 0:
            raise DataError(f"size is {self.size} and noise {self.noise}; size is at least 1, noise at least 0")

    def example(self, index: int) -> Example:
        number, rng, scene = self._drawn(index)
        chosen = int(rng.integers(CAPTIONS)) if self.split == "train" else index % CAPTIONS
        picture = PictureSource(f"{self.kind}.{self.split}:{number}", draw(scene, rng, noise=self.noise))
        return Example({"picture": picture, "caption": scene.captions()[chosen]}, self.where(index))

    def scene(self, index: int) -> Scene:
        """Return the scene of an example."""
        return self._drawn(index)[2]

    def _drawn(self, index: int) -> tuple[int, np.random.Generator, Scene]:
        """Return the picture number of an example, its random generator and the first drawn scene of this split."""
        number = index if self.split == "train" else index // CAPTIONS
        rng = np.random.default_rng((self.seed % 2**64, _PARTS.index(self.split), number))
        scene = _scene(rng)
        while not self.is_here(scene.captions()[0]):
            scene = _scene(rng)
        return number, rng, scene


def draw(scene: Scene, rng: np.random.Generator, *, noise: float = 5.0) -> Pixels:
    """Render a picture of a scene, uint8 [3, 32, 32]."""
    picture = np.full((SIDE, SIDE, 3), _BACK) + rng.uniform(-12, 12, 3)
    for thing, place in zip(scene.things, scene.places(rng), strict=True):
        inside = _inside(thing, *place)[..., None]
        picture += inside * (np.array(COLOURS[thing.colour]) * rng.uniform(0.85, 1.05) - picture)
    picture += rng.normal(0.0, noise, picture.shape)
    return np.ascontiguousarray(picture.clip(0, 255).astype(np.uint8).transpose(2, 0, 1))


def _scene(rng: np.random.Generator) -> Scene:
    kind = ("beside", "above", "count")[int(rng.integers(3))]
    if kind == "count":
        return Scene(kind, (_thing(rng),) * int(rng.integers(2, 2 + len(COUNTS))))
    first, second = _thing(rng), _thing(rng)
    while second == first:  # two equal objects are a scene of kind "count"
        second = _thing(rng)
    return Scene(kind, (first, second))


def _thing(rng: np.random.Generator) -> Thing:
    size, colour, shape = (int(rng.integers(len(words))) for words in (SIZES, COLOURS, SHAPES))
    return Thing(tuple(SIZES)[size], tuple(COLOURS)[colour], SHAPES[shape])


@cache
def _grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sampling points (y, x), four per pixel for antialiasing, [64, 64] each."""
    places = (np.arange(2 * SIDE) + 0.5) / 2
    down, right = np.meshgrid(places, places, indexing="ij")
    return down, right


def _inside(thing: Thing, down: float, right: float) -> NDArray[np.float64]:
    """Return the fraction of each pixel that an object covers, [32, 32]."""
    radius, (rows, columns) = SIZES[thing.size], _grid()
    y, x = rows - down, columns - right
    if thing.shape == "circle":
        inside = x**2 + y**2 <= radius**2
    elif thing.shape == "square":
        inside = np.maximum(abs(x), abs(y)) <= 0.88 * radius
    elif thing.shape == "triangle":
        inside = (abs(y) <= radius) & (abs(x) <= (y + radius) / 2)
    else:
        inside = (np.minimum(abs(x), abs(y)) <= 0.3 * radius) & (np.maximum(abs(x), abs(y)) <= radius)
    share: NDArray[np.float64] = inside.reshape(SIDE, 2, SIDE, 2).mean((1, 3))
    return share
