"""Labels: encoder of classes and tags, and the field of one label per example."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part, all_below, concatenate_rows
from regard.data.fields.field import Field
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PER_EXAMPLE, PaddedArray, PaddingRule, table
from regard.data.problems import DataError
from regard.specials import IGNORE

Value = str | list[str]


@dataclass(frozen=True)
class Labels(FieldEncoder):
    """The classes of a task, sorted, with ids from 0. An unknown label is an error, or ignored if `lenient`.

    Attributes:
        names: the classes.
        lenient: whether an unknown label gets the ignored id -100, for evaluation data. No model can predict it, so
            metrics count it as wrong.
        origin: the run from which the labels were taken; None if they come from the training data.

    >>> labels = Labels.train(["pos", "neg", "pos"])
    >>> labels.names, labels.encode("pos"), labels.encode(["neg", "pos"]), labels.decode([1, 0])
    (('neg', 'pos'), [1], [0, 1], ['pos', 'neg'])
    """

    FILE: ClassVar[str] = "labels"

    names: tuple[str, ...]
    lenient: bool = False
    origin: str | None = field(default=None, compare=False)

    @classmethod
    def train(cls, values: Iterable[Value]) -> Self:
        """Return the encoder of all labels that occur, sorted."""
        found: set[str] = set()
        for value in values:
            found.update([value] if isinstance(value, str) else value)
        if not found:
            raise DataError("there are no labels in the training data")
        return cls(tuple(sorted(found)))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Load labels from a file written by `save`."""
        try:
            names = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{path} is not a list of labels: {error}") from error
        return cls(names_of(names, path))

    def save(self, path: str | Path) -> None:
        """Write the names as a JSON list."""
        Path(path).write_text(json.dumps(self.names, ensure_ascii=False), encoding="utf-8")

    @property
    def size(self) -> int:
        """Number of labels."""
        return len(self.names)

    @property
    def fingerprint(self) -> str:
        """Fingerprint of everything that the ids depend on."""
        return json.dumps(self.names, ensure_ascii=False) + (" and unknown ones" if self.lenient else "")

    def encode(self, value: Value) -> list[int]:
        """Return the id of a label, or of each tag of a list."""
        return [self._id(name) for name in ([value] if isinstance(value, str) else value)]

    def encode_all(self, values: Sequence[Value]) -> list[list[int]]:
        """Return the ids of many values."""
        return [self.encode(value) for value in values]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the names of ids."""
        return [self.names[index] for index in ids]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def _id(self, name: str) -> int:
        if name in self._ids:
            return self._ids[name]
        if self.lenient:
            return IGNORE
        near = difflib.get_close_matches(name, self.names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(self.names[:10])}"
        if self.origin is not None:
            raise DataError(f"{self.origin} does not know the label {name!r}{hint}")
        raise DataError(f"the label {name!r} does not occur in the training data{hint}")


@dataclass(frozen=True)
class LabelField(Field[Labels]):
    """One label per example: its id, [B]. Examples that pad a batch have -100, which losses ignore.

    >>> LabelField(Labels(("neg", "pos"))).encode(["pos", "neg"])["ids"].values
    array([1, 0], dtype=int32)
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids", rows=1),)

    def learn(self, values: Iterable[Any]) -> Labels:
        return Labels.train(values)

    def lenient(self) -> Self:
        """Return a copy that maps unknown labels to -100."""
        return self.with_encoder(replace(self.learned, lenient=True))

    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        return {"ids": concatenate_rows(self.learned.encode_all(values), "int32")}

    def known(self, column: Column) -> bool:
        ids = column.values["ids"]
        return not len(ids) or bool((ids != IGNORE).any())

    def fits(self, column: Column) -> bool:
        ids = column.values["ids"]
        return self.encoder is None or all_below(ids[ids != IGNORE], self.encoder.size)

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        return {name: PaddedArray(column.single("ids", examples).astype(np.int64), PaddingRule(IGNORE, (0,)))}


def names_of(content: object, path: str | Path) -> tuple[str, ...]:
    """Validate and return the label names parsed from a file."""
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise DataError(f"{path} is not a list of labels, for example ['neg', 'pos'] in JSON")
    return tuple(content)


@dataclass(frozen=True)
class TagsField(LabelField):
    """One label per word: ids [B, T] padded with -100, and their number per text [B].

    >>> TagsField(Labels(("DT", "NN"))).encode([["DT", "NN"], []])["ids"].counts
    array([2, 0])
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("ids"),)

    def predicted(self, column: Column) -> Ints:
        return column.counts("ids")

    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        begins = column.offsets["ids"][examples]
        counts = column.offsets["ids"][examples + 1] - begins
        ids = table(column.values["ids"], begins, counts, pad=IGNORE)
        return {
            name: PaddedArray(ids, PaddingRule(IGNORE, (0, 0))),
            f"{name}_lengths": PaddedArray(counts, PER_EXAMPLE),
        }
