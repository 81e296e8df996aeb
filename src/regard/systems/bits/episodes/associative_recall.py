"""Associative recall task: output the item that followed the queried item."""

from __future__ import annotations

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
    random_numbers,
    read_bits,
)
from regard.systems.bits.episodes.episodes import Episodes, Floats

ITEM, QUERY = "|", "?"


@dataclass(frozen=True)
class AssociativeRecall(Algorithm):
    """Task to output the item that followed the queried one.

    Each item is a few vectors, preceded by a delimiter. The queried item comes last, between two query delimiters.

    Graves, Wayne & Danihelka 2014, section 4.3.

    Attributes:
        bits: bits per vector.
        vectors: vectors per item.
        fewest, most: smallest and largest number of items.

    >>> task = AssociativeRecall(bits=3, vectors=2, fewest=3, most=3)
    >>> episodes = task.draw(1, 6)
    >>> task.question(episodes.inputs[0])
    '| 100 110 | 101 100 | 011 000 ? 100 110 ?'
    >>> task.answer(episodes.targets[0], episodes.asked[0])
    '101 100'
    """

    bits: int = 6
    vectors: int = 3
    fewest: int = 2
    most: int = 6

    def __post_init__(self) -> None:
        check_range(fewest=self.fewest, most=self.most)
        if self.fewest < 2:
            raise DataError(f"fewest is {self.fewest}; an item that comes after another needs at least 2")

    @property
    def input_dim(self) -> int:
        """Bits of a vector and two channels for the item and query delimiters."""
        return self.bits + 2

    @property
    def output_dim(self) -> int:
        """Bits of a vector."""
        return self.bits

    @property
    def entries(self) -> int:
        """Largest number of items."""
        return self.most

    def draw(self, count: int, *seeds: int) -> Episodes:
        number = between(self.fewest, self.most, *seeds)
        items = random_bits((count, number, self.vectors, self.bits), *seeds, 1)
        queries = (random_numbers((count,), *seeds, 2) % np.uint64(number - 1)).astype(np.int64)
        rows = np.arange(count)
        inputs = np.stack([_laid(one, one[query]) for one, query in zip(items, queries, strict=True)])
        return Episodes.of(inputs, items[rows, queries + 1], _asked(inputs.shape[1], self.vectors))

    def lay(self, question: str) -> EpisodeQuestion:
        told, _, query = question.strip().removesuffix(QUERY).partition(QUERY)
        parts = [part.split() for part in told.strip().removeprefix(ITEM).split(ITEM)]
        if len(parts) < 2 or any(len(part) != self.vectors for part in (*parts, query.split())):
            raise DataError(
                f"a question to recall is items of {self.vectors} vectors behind {ITEM!r}, and one of them between "
                f"{QUERY!r}; got {shortened(question)!r}"
            )
        read = [[read_bits(word, self.bits, question) for word in part] for part in (*parts, query.split())]
        if read[-1] not in read[:-2]:
            raise DataError(
                f"what stands between {QUERY!r} must be an item that another comes after; got {shortened(question)!r}"
            )
        inputs = _laid(np.array(read[:-1], np.float32), np.array(read[-1], np.float32))
        steps = [step for part in parts for step in (ITEM, *part)] + [QUERY, *query.split(), QUERY]
        return EpisodeQuestion(inputs, _asked(len(inputs), self.vectors), (*steps, *[""] * self.vectors), len(parts))

    def question(self, inputs: Floats) -> str:
        return " ".join(self._word(row) for row in inputs[: -self.vectors])

    def _word(self, row: Floats) -> str:
        return ITEM if row[self.bits] else QUERY if row[self.bits + 1] else bits_text(row[: self.bits])


def _laid(items: Floats, query: Floats) -> Floats:
    """Encode items [N, V, W] and a query [V, W] as inputs [N (V + 1) + 2 V + 2, W + 2]."""
    number, vectors, bits = items.shape
    inputs = np.zeros((number * (vectors + 1) + 2 * vectors + 2, bits + 2), np.float32)
    # A view of the leading rows, so that the assignments below write to `inputs`.
    told = inputs[: number * (vectors + 1)].reshape(number, vectors + 1, bits + 2)
    told[:, 0, bits] = 1.0
    told[:, 1:, :bits] = items
    asks = inputs[number * (vectors + 1) :]
    asks[[0, vectors + 1], bits + 1] = 1.0
    asks[1 : vectors + 1, :bits] = query
    return inputs


def _asked(steps: int, vectors: int) -> NDArray[np.bool_]:
    return np.arange(steps) >= steps - vectors
