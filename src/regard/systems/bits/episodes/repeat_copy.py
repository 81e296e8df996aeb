"""Repeat copy task: output the input vectors a given number of times, followed by an end marker."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.problems import DataError, shortened
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

MEAN, DEVIATION = 5.5, 8.25**0.5  # of the integers 1 to 10


@dataclass(frozen=True)
class RepeatCopy(Algorithm):
    """Task to output random vectors several times, then an end marker; the count has a separate input channel.

    The count is normalized by the mean and standard deviation of 1 to 10, independent of `most`, so that a model can be
    tested on more repetitions than in training. The last bit of an output vector is the end marker: `0000` and `1`.

    Graves, Wayne & Danihelka 2014, section 4.2.

    Attributes:
        bits: bits per vector.
        shortest, longest: smallest and largest number of vectors.
        least, most: smallest and largest number of repetitions.

    >>> task = RepeatCopy(bits=3, shortest=2, longest=2, least=2, most=2)
    >>> episodes = task.draw(1, 7)
    >>> task.question(episodes.inputs[0]), task.answer(episodes.targets[0], episodes.asked[0])
    ('100 100 x2', '1000 1000 1000 1000 0001')
    """

    bits: int = 8
    shortest: int = 1
    longest: int = 10
    least: int = 1
    most: int = 10

    def __post_init__(self) -> None:
        check_range(shortest=self.shortest, longest=self.longest)
        check_range(least=self.least, most=self.most)

    @property
    def input_dim(self) -> int:
        """Bits of a vector and one channel for the count."""
        return self.bits + 1

    @property
    def output_dim(self) -> int:
        """Bits of a vector and the end marker."""
        return self.bits + 1

    @property
    def entries(self) -> int:
        """Largest number of vectors."""
        return self.longest

    def draw(self, count: int, *seeds: int) -> Episodes:
        length, times = between(self.shortest, self.longest, *seeds), between(self.least, self.most, *seeds, 1)
        vectors = random_bits((count, length, self.bits), *seeds, 2)
        inputs = np.stack([_laid(one, times) for one in vectors])
        answers = np.zeros((count, length * times + 1, self.output_dim), np.float32)
        answers[:, :-1, : self.bits] = np.tile(vectors, (1, times, 1))
        answers[:, -1, self.bits] = 1.0
        return Episodes.of(inputs, answers, _asked(length, times))

    def lay(self, question: str) -> EpisodeQuestion:
        *words, number = question.split() or [""]
        if not words or not re.fullmatch(r"x[1-9]\d{0,3}", number):
            raise DataError(
                f"a question to copy several times is vectors and how often, 0110 1001 x3; got {shortened(question)!r}"
            )
        times = int(number[1:])
        vectors = np.array([read_bits(word, self.bits, question) for word in words], np.float32)
        asked = _asked(len(words), times)
        return EpisodeQuestion(_laid(vectors, times), asked, (*words, number, *[""] * int(asked.sum())), len(words))

    def question(self, inputs: Floats) -> str:
        length = int(np.flatnonzero(inputs[:, self.bits])[0])
        times = round(float(inputs[length, self.bits]) * DEVIATION + MEAN)
        return " ".join((*(bits_text(row[:-1]) for row in inputs[:length]), f"x{times}"))


def _laid(vectors: Floats, times: int) -> Floats:
    """Encode vectors [L, W] and the count as inputs [L + 1 + L times + 1, W + 1]."""
    length, bits = vectors.shape
    inputs = np.zeros((length * (times + 1) + 2, bits + 1), np.float32)
    inputs[:length, :bits] = vectors
    inputs[length, bits] = (times - MEAN) / DEVIATION
    return inputs


def _asked(length: int, times: int) -> NDArray[np.bool_]:
    return np.arange(length * (times + 1) + 2) > length
