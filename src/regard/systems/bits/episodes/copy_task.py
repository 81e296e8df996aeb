"""Copy task: output the input vectors again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.problems import DataError
from regard.systems.bits.episodes.algorithm import (
    Algorithm,
    EpisodeQuestion,
    between,
    bits_text,
    check_range,
    random_bits,
    read_bits,
)
from regard.systems.bits.episodes.episodes import Episodes, Floats


@dataclass(frozen=True)
class Copy(Algorithm):
    """Task to output random vectors again after a delimiter; the input is zero at the output steps.

    Graves, Wayne & Danihelka 2014, section 4.1.

    Attributes:
        bits: bits per vector.
        shortest, longest: smallest and largest number of vectors.

    >>> task = Copy(bits=3, shortest=2, longest=2)
    >>> episodes = task.draw(1, 7)
    >>> episodes.inputs[0].astype(int).tolist()
    [[1, 1, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    >>> task.question(episodes.inputs[0]), task.answer(episodes.targets[0], episodes.asked[0])
    ('111 010', '111 010')
    """

    bits: int = 8
    shortest: int = 1
    longest: int = 20

    def __post_init__(self) -> None:
        check_range(shortest=self.shortest, longest=self.longest)

    @property
    def input_dim(self) -> int:
        """Bits of a vector and one channel for the delimiter."""
        return self.bits + 1

    @property
    def output_dim(self) -> int:
        """Bits of a vector."""
        return self.bits

    @property
    def entries(self) -> int:
        """Largest number of vectors."""
        return self.longest

    def draw(self, count: int, *seeds: int) -> Episodes:
        length = between(self.shortest, self.longest, *seeds)
        vectors = random_bits((count, length, self.bits), *seeds, 1)
        inputs = np.stack([_laid(one) for one in vectors])
        return Episodes.of(inputs, vectors, _asked(length))

    def lay(self, question: str) -> EpisodeQuestion:
        words = question.split()
        if not words:
            raise DataError("a question to copy has at least one vector of bits")
        vectors = np.array([read_bits(word, self.bits, question) for word in words], np.float32)
        return EpisodeQuestion(_laid(vectors), _asked(len(words)), (*words, "copy", *[""] * len(words)), len(words))

    def question(self, inputs: Floats) -> str:
        return " ".join(bits_text(row[:-1]) for row in inputs[: len(inputs) // 2])


def _laid(vectors: Floats) -> Floats:
    """Encode vectors [L, W] as inputs [2 L + 1, W + 1]."""
    length, bits = vectors.shape
    inputs = np.zeros((2 * length + 1, bits + 1), np.float32)
    inputs[:length, :bits] = vectors
    inputs[length, bits] = 1.0
    return inputs


def _asked(length: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.arange(2 * length + 1) > length
