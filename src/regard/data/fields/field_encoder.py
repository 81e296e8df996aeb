"""Encoder: learned from the training split, and kept in a file of the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

_BY_FILE: dict[str, type[FieldEncoder]] = {}


class FieldEncoder(ABC):
    """Mapping from the values of a field to numbers. A subclass with a `FILE` is found by every run that is loaded.

    Attributes:
        FILE: first part of the name of the file in a run: the encoder of "source" is kept in `FILE.source.json`.
    """

    FILE: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "FILE" in cls.__dict__:
            _BY_FILE[cls.FILE] = cls

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of ids, or the width of a vector."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Everything that decides the encoded values."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Write the file that `load` reads."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | Path) -> Self:
        """Return the encoder of a file that `save` wrote.

        Raises:
            DataError: the file is not one of this kind.
        """


def encoder_kinds() -> tuple[type[FieldEncoder], ...]:
    """Return all encoders that have been imported, those of plug-ins too."""
    return tuple(_BY_FILE.values())
