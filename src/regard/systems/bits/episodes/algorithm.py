"""Base class of algorithmic tasks: random episodes, and their text format."""

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
    """Question encoded as a sequence of input vectors.

    Attributes:
        inputs: input vectors [T, I].
        asked: [T], True at steps where an answer is expected.
        steps: short name of each step: its input as text, empty if there is none.
        entries: number of memory entries that must be kept distinct until the answer.
    """

    inputs: Floats
    asked: NDArray[np.bool_]
    steps: tuple[str, ...]
    entries: int


class Algorithm(abc.ABC):
    """Base class of tasks that map vectors to bits. In text, vectors are written `0110`, separated by spaces.

    Episodes are a deterministic function of the seeds, the same on every machine. All episodes of one draw have the
    same length.
    """

    @property
    @abc.abstractmethod
    def input_dim(self) -> int:
        """Width I of an input."""

    @property
    @abc.abstractmethod
    def output_dim(self) -> int:
        """Width O of an answer vector, in bits."""

    @property
    @abc.abstractmethod
    def entries(self) -> int:
        """Largest number of memory entries that must be kept distinct until the answer."""

    @abc.abstractmethod
    def draw(self, count: int, *seeds: int) -> Episodes:
        """Draw `count` episodes of equal length."""

    @abc.abstractmethod
    def lay(self, question: str) -> EpisodeQuestion:
        """Parse a question and encode it as input vectors.

        Raises:
            DataError: the text is not a question of this task.
        """

    @abc.abstractmethod
    def question(self, inputs: Floats) -> str:
        """Return the text of an episode's inputs [T, I]; the inverse of `lay`."""

    def answer(self, targets: Floats, asked: NDArray[np.bool_]) -> str:
        """Return the text of an episode's targets [T, O]."""
        return " ".join(bits_text(row) for row in targets[asked])

    def optimum(self, episodes: Episodes) -> float:
        """Return the lowest possible cost of these episodes in bits, summed; 0 if the answers are determined."""
        return 0.0


def random_bits(shape: tuple[int, ...], *seeds: int) -> Floats:
    """Draw zeros and ones with probability 1/2 each.

    >>> random_bits((2, 5), 1).tolist()
    [[1.0, 0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0, 1.0]]
    """
    return (random_numbers(shape, *seeds) >> np.uint64(63)).astype(np.float32)  # the highest bit of each number


def random_numbers(shape: tuple[int, ...], *seeds: int) -> Random:
    """Draw random integers below 2^64."""
    return splitmix64(np.arange(int(np.prod(shape)), dtype=np.uint64), *seeds).reshape(shape)


def between(low: int, high: int, *seeds: int) -> int:
    """Draw a random integer, with both bounds included.

    >>> sorted({between(2, 4, seed) for seed in range(20)})
    [2, 3, 4]
    """
    return low + int(splitmix64(np.zeros(1, np.uint64), *seeds)[0]) % (high - low + 1)


def bits_text(row: Floats) -> str:
    """Format a vector of zeros and ones as `0110`."""
    return "".join("1" if bit > 0.5 else "0" for bit in row)


def read_bits(word: str, width: int, question: str) -> list[float]:
    """Parse the bits of a vector written as `0110`."""
    if len(word) != width or set(word) - {"0", "1"}:
        raise DataError(f"{word!r} in the question {shortened(question)!r} is no vector of {width} bits, 0 or 1 each")
    return [float(bit) for bit in word]


def check_range(**bounds: int) -> None:
    """Check that 1 <= lower <= upper; the keyword names, lower bound first, are used in the message."""
    (lower, low), (upper, high) = bounds.items()
    if not 1 <= low <= high:
        raise DataError(f"{lower!r} is {low} and {upper!r} is {high}; it must be that 1 <= {lower} <= {upper}")
