"""Base class of encoders, which are learned from the training split and saved with the run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

_BY_FILE: dict[str, type[FieldEncoder]] = {}


class FieldEncoder(ABC):
    """Mapping from the values of a field to numbers. Subclasses with a `FILE` are found when a run is loaded.

    Attributes:
        FILE: prefix of the file name in a run: the encoder of "source" is saved in `FILE.source.json`.
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
        """Fingerprint of everything that the encoded values depend on."""

    @abstractmethod
    def save(self, path: str | Path) -> None:
        """Save the encoder to a file for `load`."""

    @classmethod
    @abstractmethod
    def load(cls, path: str | Path) -> Self:
        """Load an encoder from a file written by `save`.

        Raises:
            DataError: the file is not one of this kind.
        """


def encoder_kinds() -> tuple[type[FieldEncoder], ...]:
    """Return all imported encoder classes, including those of plug-ins."""
    return tuple(_BY_FILE.values())
