"""The base of all sections `data`, and how a task reads them."""

from __future__ import annotations

import abc
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from regard.recipes.section import Section

if TYPE_CHECKING:
    from regard.data.example import Examples
    from regard.data.fields.target_kinds import TargetKind


SplitName = Literal["train", "valid", "test"]
Column = TypeVar("Column", str, int, str | int)


@dataclass(frozen=True)
class FieldLayout:
    """Fields that a task reads from the examples of a format.

    Attributes:
        question: the field that is read.
        second: the field of a second text.
        answer: the field of the right answer; None where the text itself is.
        group: the field by whose hash examples are divided into splits "by source".
        target_kind: the form of the right answer in a file.
        adapt: what is made of the examples of a file: two texts joined, words spelt.
    """

    question: str
    answer: str | None
    second: str
    group: str
    target_kind: TargetKind
    adapt: Callable[[Examples], Examples] = lambda found: found

    def columns(self, source: Column | list[Column], target: Column) -> dict[str, Column]:
        """Return the column of each field."""
        read = dict(zip((self.question, self.second), source, strict=True)) if isinstance(source, list) else {}
        read = read or {self.question: source}  # type: ignore[dict-item]
        return read if self.answer is None else {**read, self.answer: target}


class DataSection(Section, abc.ABC):
    """A section `data`: what it learns from. Each has a key `format`, which says that it is this kind of data."""

    if TYPE_CHECKING:

        @property
        def format(self) -> str:
            """The name of the format."""

    @property
    def has_two_texts(self) -> bool:
        """True if the keys name two texts of an example."""
        return isinstance(getattr(self, "source", None), list)

    @abc.abstractmethod
    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        """Return the examples of a split; None where the section names none."""

    def check(self) -> None:
        """Check what the data make of the keys, without reading a file.

        Raises:
            ValueError: values that do not fit together.
        """


class GeneratedData(DataSection):
    """Keys of generated data: the sizes of the splits, and the arguments of what generates them.

    Attributes:
        made: the `Generated` class, "module:Class".
    """

    made: ClassVar[str]

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the arguments of the class for a split, by name."""
        rule = self.model_dump(exclude={"format", "train_size", "valid_size", "test_size"}, exclude_none=True)
        return {"split": split, "size": getattr(self, f"{split}_size"), **rule}

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split)))

    def _made(self, **arguments: Any) -> Examples:
        module, _, name = self.made.partition(":")
        found: Examples = getattr(importlib.import_module(module), name)(**arguments)
        return found
