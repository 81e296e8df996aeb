"""Train, valid and test splits of data without predefined splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from regard.data.example import Example, WrappedExamples
from regard.data.problems import DataError

Part = Literal["train", "valid", "test"]


def hash_fraction(text: str, salt: str = "") -> float:
    """Map a text to [0, 1) by its hash, reproducibly on all machines.

    >>> hash_fraction("a house") == hash_fraction("a house") != hash_fraction("a house", "other")
    True
    """
    digest = hashlib.blake2b(f"{salt}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


@dataclass(frozen=True)
class HashSplit(WrappedExamples):
    """The train, valid or test split of examples, by the hash of a field.

    Examples with the same value of the field are in the same split: for example, split translations by the sentence
    that has several translations, and a pronouncing dictionary by the word. Adding data does not move other examples.

    Args:
        examples: all examples.
        part: "train", "valid" or "test".
        by: name of the field.
        valid: fraction of examples in valid.
        test: fraction of examples in test.
        salt: salt of the hash; another salt gives another split.
        fold: index of the cross-validation fold, from 0; the test splits of the folds are disjoint. With `test=0.1`
            ten folds test each example once.

    >>> from regard.systems.translation.digits import Digits
    >>> digits, parts = Digits("copy", size=1000), ("train", "valid", "test")
    >>> parts = [len(list(HashSplit(digits, part, by="source"))) for part in parts]
    >>> sum(parts), parts[0] > 850
    (1000, True)
    """

    part: Part
    by: str = field(kw_only=True)
    valid: float = field(default=0.05, kw_only=True)
    test: float = field(default=0.05, kw_only=True)
    salt: str = field(default="", kw_only=True)
    fold: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        if self.part not in ("train", "valid", "test"):
            raise DataError(f"part is {self.part!r}; it can be 'train', 'valid' or 'test'")
        if not (min(self.valid, self.test) >= 0 and self.valid + self.test < 1):
            raise DataError(f"valid {self.valid} and test {self.test} leave nothing to train on; they are shares of 1")

    def settings(self) -> str:
        """Return the settings of the split and of the wrapped examples."""
        fold = f", fold {self.fold}" if self.fold else ""  # omitted for 0: keeps older caches valid
        shares = f"{self.valid}, {self.test}, {self.salt!r}{fold}"
        return f"Split({self.part}, {self.by}, {shares}) of {self.examples.settings()}"

    def __iter__(self) -> Iterator[Example]:
        empty = True
        for example in self.examples:
            if self.by not in example.fields:
                raise DataError(f"{example.where}: there is no field {self.by!r} to split by")
            if self._part(example) == self.part:
                empty = False
                yield example
        if empty:
            more = "the shares of the others smaller" if self.part == "train" else "its share larger"
            raise DataError(
                f"the part {self.part} has no examples; make {more}, or give more examples that differ in {self.by!r}"
            )

    def _part(self, example: Example) -> Part:
        value = example.fields[self.by]
        parts = chain.from_iterable(value.items()) if isinstance(value, Mapping) else value
        place = hash_fraction(value if isinstance(value, str) else " ".join(parts), self.salt)
        place = (place - self.fold * self.test) % 1.0
        return "valid" if place < self.valid else "test" if place < self.valid + self.test else "train"


@dataclass(frozen=True)
class OrderedSlice(WrappedExamples):
    """A contiguous slice of the examples between two fractions: for running text, `OrderedSlice(text, 0.9, 1.0)`.

    >>> from regard.systems.translation.digits import Digits
    >>> len(list(OrderedSlice(Digits("copy", size=10), 0.0, 0.9)))
    9
    """

    begin: float
    end: float

    def __post_init__(self) -> None:
        if not 0 <= self.begin < self.end <= 1:
            raise DataError(f"a slice from {self.begin} to {self.end} is empty; 0 <= begin < end <= 1")

    def settings(self) -> str:
        """Return the settings of the slice and of the wrapped examples."""
        return f"Slice({self.begin}, {self.end}) of {self.examples.settings()}"

    def __iter__(self) -> Iterator[Example]:
        count = sum(1 for _ in self.examples)
        begin, end = round(self.begin * count), round(self.end * count)
        if begin == end:
            raise DataError(
                f"the slice from {self.begin} to {self.end} of {count} examples is empty; make data.split wider, or "
                "give more examples"
            )
        for number, example in enumerate(self.examples):
            if begin <= number < end:
                yield example
