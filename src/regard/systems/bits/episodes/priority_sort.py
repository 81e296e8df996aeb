"""Priority sort task: output the vectors with the highest priorities, in order of priority."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.problems import DataError, shortened
from regard.systems.bits.episodes.algorithm import (
    Algorithm,
    EpisodeQuestion,
    bits_text,
    random_bits,
    random_numbers,
    read_bits,
)
from regard.systems.bits.episodes.episodes import Episodes, Floats

_STEPS = 10_000  # priorities are multiples of 1/10000, so that their text with four digits is exact


@dataclass(frozen=True)
class PrioritySort(Algorithm):
    """Task to output the vectors of highest priority in order, after a delimiter.

    Each vector has a priority from -1 to 1 in a separate channel. Vectors of equal priority (one in 20,000 pairs) keep
    their input order. Graves, Wayne & Danihelka 2014, section 4.5.

    Attributes:
        bits: bits per vector.
        vectors: number of input vectors.
        highest: number of output vectors.

    >>> task = PrioritySort(bits=3, vectors=3, highest=2)
    >>> episodes = task.draw(1, 9)
    >>> task.question(episodes.inputs[0]), task.answer(episodes.targets[0], episodes.asked[0])
    ('000:0.0532 110:0.0273 011:0.0357', '000 011')
    """

    bits: int = 8
    vectors: int = 20
    highest: int = 16

    def __post_init__(self) -> None:
        if not 1 <= self.highest <= self.vectors:
            raise DataError(f"highest is {self.highest}; it lies between 1 and vectors, {self.vectors}")

    @property
    def input_dim(self) -> int:
        """Bits of a vector and two channels for the priority and the delimiter."""
        return self.bits + 2

    @property
    def output_dim(self) -> int:
        """Bits of a vector."""
        return self.bits

    @property
    def entries(self) -> int:
        """Number of input vectors."""
        return self.vectors

    def draw(self, count: int, *seeds: int) -> Episodes:
        vectors = random_bits((count, self.vectors, self.bits), *seeds)
        thrown = random_numbers((count, self.vectors), *seeds, 1) % np.uint64(2 * _STEPS + 1)
        priorities = thrown.astype(np.int64) / _STEPS - 1.0
        inputs = np.stack([_laid(*one, self.highest) for one in zip(vectors, priorities, strict=True)])
        order = np.argsort(-priorities, axis=1, kind="stable")[:, : self.highest]
        return Episodes.of(inputs, np.take_along_axis(vectors, order[:, :, None], 1), self._asked(self.vectors))

    def lay(self, question: str) -> EpisodeQuestion:
        words = question.split()
        if len(words) < self.highest:
            raise DataError(
                f"{self.highest} of the vectors are sorted, so a question has at least so many, each with its priority "
                f"behind it, 0110:0.25; got {shortened(question)!r}"
            )
        read = [self._read(word, question) for word in words]
        vectors, priorities = (np.array(part, np.float32) for part in zip(*read, strict=True))
        inputs = _laid(vectors, priorities, self.highest)
        return EpisodeQuestion(inputs, self._asked(len(words)), (*words, "sort", *[""] * self.highest), len(words))

    def _read(self, word: str, question: str) -> tuple[list[float], float]:
        bits, _, number = word.partition(":")
        try:
            priority = float(number)
        except ValueError:
            priority = np.nan
        if not -1 <= priority <= 1:
            raise DataError(f"{word!r} in the question is a vector without a priority from -1 to 1: 0110:0.25")
        return read_bits(bits, self.bits, question), priority

    def _asked(self, vectors: int) -> NDArray[np.bool_]:
        return np.arange(vectors + 1 + self.highest) > vectors

    def question(self, inputs: Floats) -> str:
        told = inputs[: -self.highest - 1]
        return " ".join(f"{bits_text(row[: self.bits])}:{round(float(row[self.bits]), 4):g}" for row in told)


def _laid(vectors: Floats, priorities: NDArray[np.floating], highest: int) -> Floats:
    """Encode vectors [N, W] and priorities [N] as inputs [N + 1 + K, W + 2]."""
    number, bits = vectors.shape
    inputs = np.zeros((number + 1 + highest, bits + 2), np.float32)
    inputs[:number, :bits] = vectors
    inputs[:number, bits] = priorities
    inputs[number, bits + 1] = 1.0
    return inputs
