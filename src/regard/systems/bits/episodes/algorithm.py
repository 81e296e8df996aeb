"""Algorithmic tasks: their episodes are drawn, and written as text."""

from __future__ import annotations

import abc
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.batching.order import splitmix64
from regard.data.problems import DataError, shortened
from regard.systems.bits.episodes.episodes import Episodes, Floats

Random = NDArray[np.uint64]


class EpisodeQuestion(NamedTuple):
    """A question laid out in steps.

    Attributes:
        inputs: [T, I].
        asked: [T], True where an answer is expected.
        steps: a short name for each step: what is read there, empty if nothing is.
        entries: how many things must be kept apart until they are answered.
    """

    inputs: Floats
    asked: NDArray[np.bool_]
    steps: tuple[str, ...]
    entries: int


class Algorithm(abc.ABC):
    """A rule that makes bits of vectors. Questions and answers are texts: vectors of bits, `0110`, with spaces between.

    What is drawn is a function of the seeds, the same on every machine. All episodes of a draw have one length.

    """

    @property
    @abc.abstractmethod
    def input_dim(self) -> int:
        """I, width of an input."""

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """O, bits of a vector of the answer."""

    @property
    @abc.abstractmethod
    def entries(self) -> int:
        """The most entries that must be kept apart until they are answered."""

    @abc.abstractmethod
    def draw(self, count: int, *seeds: int) -> Episodes:
        """`count` episodes of one length."""

    @abc.abstractmethod
    def lay(self, question: str) -> EpisodeQuestion:
        """A question as steps.

        Raises:
            DataError: it is none.
        """

    @abc.abstractmethod
    def question(self, inputs: Floats) -> str:
        """The text of an episode's inputs [T, I]; `lay` of it gives the inputs again."""

    def answer(self, targets: Floats, asked: NDArray[np.bool_]) -> str:
        """The text of an episode's targets [T, O]."""
        return " ".join(bits_text(row) for row in targets[asked])

    def optimum(self, episodes: Episodes) -> float:
        """The bits that the best possible answers to these episodes cost, all together."""
        return 0.0


def random_bits(shape: tuple[int, ...], *seeds: int) -> Floats:
    """Fair zeros and ones.

    >>> random_bits((2, 5), 1).tolist()
    [[1.0, 0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0, 1.0]]
    """
    return (random_numbers(shape, *seeds) >> np.uint64(63)).astype(np.float32)


def random_numbers(shape: tuple[int, ...], *seeds: int) -> Random:
    """Random whole numbers below 2^64."""
    return splitmix64(np.arange(int(np.prod(shape)), dtype=np.uint64), *seeds).reshape(shape)


def between(low: int, high: int, *seeds: int) -> int:
    """A random whole number, both ends included.

    >>> sorted({between(2, 4, seed) for seed in range(20)})
    [2, 3, 4]
    """
    return low + int(splitmix64(np.zeros(1, np.uint64), *seeds)[0]) % (high - low + 1)


def bits_text(row: Floats) -> str:
    """`0110` of a vector of zeros and ones."""
    return "".join("1" if bit > 0.5 else "0" for bit in row)


def read_bits(word: str, width: int, question: str) -> list[float]:
    """The bits of a vector that is written `0110`."""
    if len(word) != width or set(word) - {"0", "1"}:
        raise DataError(f"{word!r} in the question {shortened(question)!r} is no vector of {width} bits, 0 or 1 each")
    return [float(bit) for bit in word]


def check_range(**bounds: int) -> None:
    """Check that there is something to draw from, by the names of the least and the most."""
    (lower, low), (upper, high) = bounds.items()
    if not 1 <= low <= high:
        raise DataError(f"{lower!r} is {low} and {upper!r} is {high}; it must be that 1 <= {lower} <= {upper}")
