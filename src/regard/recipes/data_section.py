"""Base of all sections `data`, and the fields that a task takes from examples."""

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
        question: input field.
        second: input field of the second text, if there are two.
        answer: target field; None if the input is its own target.
        group: the field by whose hash examples are divided into splits "by source".
        target_kind: form of the target in a file.
        adapt: conversion of the examples of a file, such as joining two texts or spelling words.
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
    """Section `data`: source of the training, validation and test data. Its key `format` selects the subclass."""

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
        """Return the examples of a split; None if the section has no such split."""

    def check(self) -> None:
        """Check the combination of keys, without reading a file.

        Raises:
            ValueError: values are incompatible.
        """


class GeneratedData(DataSection):
    """Keys of generated data: the sizes of the splits, and the arguments of the generator.

    Attributes:
        made: the `Generated` class, "module:Class".
    """

    made: ClassVar[str]

    def arguments(self, split: SplitName) -> dict[str, Any]:
        """Return the keyword arguments of the class for a split."""
        rule = self.model_dump(exclude={"format", "train_size", "valid_size", "test_size"}, exclude_none=True)
        return {"split": split, "size": getattr(self, f"{split}_size"), **rule}

    def examples(self, split: SplitName, reading: FieldLayout) -> Examples | None:
        return reading.adapt(self._made(**self.arguments(split)))

    def _made(self, **arguments: Any) -> Examples:
        module, _, name = self.made.partition(":")
        found: Examples = getattr(importlib.import_module(module), name)(**arguments)
        return found
