"""Dynamic N-grams task: predict the next bit from the counts of its context so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.data.problems import DataError, shortened
from regard.systems.bits.episodes.algorithm import Algorithm, EpisodeQuestion, random_numbers
from regard.systems.bits.episodes.episodes import Episodes, Floats


@dataclass(frozen=True)
class Ngrams(Algorithm):
    r"""Bits of a random N-gram table: each bit depends on the N - 1 before it, and each sequence has its own table.

    The probability of a one after each of the 2^(N-1) contexts is drawn from Beta(1/2, 1/2). The first N - 1 bits are
    uniform. The input at each step is the previous bit, with a marker at the first step; the target is the current
    bit. The optimal predictor is

    .. math:: p(1 \mid \text{context}) = \frac{N_1 + \frac12}{N_0 + N_1 + 1}

    with N_0 and N_1 the counts of zeros and ones after the same context so far (`optimal`); `optimum` is its cost.

    Graves, Wayne & Danihelka 2014, section 4.4, equation 10.

    Attributes:
        length: bits per sequence.
        order: order N; a bit depends on the N - 1 before it.

    >>> task = Ngrams(length=12, order=3)
    >>> episodes = task.draw(1, 5)
    >>> task.question(episodes.inputs[0]), task.answer(episodes.targets[0], episodes.asked[0])
    ('10101010101', '1 0 1 0 1 0 1 0 1 0 1 0')
    >>> round(task.optimum(episodes), 2)
    6.05
    """

    length: int = 200
    order: int = 6

    def __post_init__(self) -> None:
        if not 1 <= self.order <= min(16, self.length):
            raise DataError(f"order is {self.order}; it lies between 1 and 16, and within the length {self.length}")

    @property
    def input_dim(self) -> int:
        """Two channels: the previous bit and the marker of the first step."""
        return 2

    @property
    def output_dim(self) -> int:
        """One bit."""
        return 1

    @property
    def entries(self) -> int:
        """One: counts may share rows of the memory, so no minimum follows."""
        return 1

    def draw(self, count: int, *seeds: int) -> Episodes:
        contexts = 2 ** (self.order - 1)
        # Beta(1/2, 1/2) is the arcsine distribution: the square of the sine of an even angle.
        tables = np.sin(_shares((count, contexts), *seeds) * np.pi / 2) ** 2
        thrown = _shares((count, self.length), *seeds, 1)
        bits, rows = np.zeros((count, self.length), np.int64), np.arange(count)
        context = np.zeros(count, np.int64)
        for step in range(self.length):
            chance = tables[rows, context] if step >= self.order - 1 else 0.5
            bits[:, step] = thrown[:, step] < chance
            context = (2 * context + bits[:, step]) % contexts
        targets = bits[:, :, None].astype(np.float32)
        inputs = np.stack([_laid(row) for row in targets[:, :-1, 0]])
        return Episodes(inputs, targets, np.ones(inputs.shape[:2], np.bool_))

    def lay(self, question: str) -> EpisodeQuestion:
        bits = "".join(question.split())
        if not bits or set(bits) - {"0", "1"}:
            raise DataError(f"a question of N-grams is bits, 0 or 1 each; got {shortened(question)!r}")
        inputs = _laid(np.array([float(bit) for bit in bits], np.float32))
        return EpisodeQuestion(inputs, np.ones(len(inputs), np.bool_), ("", *bits), 1)

    def question(self, inputs: Floats) -> str:
        return "".join("1" if row[0] > 0.5 else "0" for row in inputs[1:])

    def optimal(self, targets: Floats) -> NDArray[np.float64]:
        """Return the optimal p(1) at every step, [B, T], for bits [B, T]."""
        count, length = targets.shape
        contexts, rows = 2 ** (self.order - 1), np.arange(count)
        seen = np.full((count, contexts, 2), 0.5)  # counts of zeros and ones, with the prior's 1/2 each
        context = np.zeros(count, np.int64)
        chances = np.full((count, length), 0.5)
        for step in range(length):
            bit = targets[:, step].astype(np.int64)
            if step >= self.order - 1:
                counts = seen[rows, context]
                chances[:, step] = counts[:, 1] / counts.sum(1)
                seen[rows, context, bit] += 1
            context = (2 * context + bit) % contexts
        return chances

    def optimum(self, episodes: Episodes) -> float:
        bits = episodes.targets[:, :, 0]
        chances = self.optimal(bits)
        return float(-np.log2(np.where(bits > 0.5, chances, 1 - chances)).sum())


def _laid(bits: Floats) -> Floats:
    """Encode bits [L] as inputs [L + 1, 2]."""
    inputs = np.zeros((len(bits) + 1, 2), np.float32)
    inputs[0, 1] = 1.0
    inputs[1:, 0] = bits
    return inputs


def _shares(shape: tuple[int, ...], *seeds: int) -> NDArray[np.float64]:
    """Draw uniform random numbers in [0, 1)."""
    return random_numbers(shape, *seeds) / 2.0**64
