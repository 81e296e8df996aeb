"""Field: the kind of a field of an example, from its learned encoder to its padded tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from regard.data.fields.column import Column, EncodedRows, Ints, Part
from regard.data.fields.field_encoder import FieldEncoder
from regard.data.fields.padding import PaddedArray
from regard.data.problems import DataError

E = TypeVar("E", bound=FieldEncoder)


@dataclass(frozen=True)
class Field(ABC, Generic[E]):
    """Kind of a field. A new kind is one subclass; nothing else in the package lists the kinds.

    A task names the kind of each of its fields (`Task.fields`). Values pass through it in this order: `learn` from the
    training split, `encode` into the files of a corpus, `collate` into the tensors of a batch. Everything here is
    NumPy; tensors are made of it by `Collator`.

    Attributes:
        encoder: learned from the training split; None before that, and of kinds that learn nothing.
        LEARNS: whether there is an encoder to learn, which is kept with the run.
        CHUNK: examples that are encoded at a time.
    """

    LEARNS: ClassVar[bool] = True
    CHUNK: ClassVar[int] = 4096

    encoder: E | None = None

    @property
    def learned(self) -> E:
        """The encoder, where there must be one."""
        if self.encoder is None:
            raise DataError(f"{type(self).__name__} has no encoder yet; give it one, or learn it from examples")
        return self.encoder

    def learn(self, values: Iterable[Any]) -> E:
        """Return the encoder that is learned from the values of the training split."""
        raise DataError(f"{type(self).__name__} has nothing to learn")

    def with_encoder(self, encoder: FieldEncoder | None) -> Self:
        """Return this kind with another encoder."""
        return replace(self, encoder=encoder)  # type: ignore[arg-type]  # a run keeps encoders of all kinds

    def lenient(self) -> Self:
        """Return this kind for data that a model is measured on, where values may occur that training never had."""
        return self

    @property
    def fingerprint(self) -> str:
        """Everything that decides the stored values."""
        return self.encoder.fingerprint if self.encoder is not None else ""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The files of the field in a corpus, the main one first."""

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> dict[str, EncodedRows]:
        """Return some values as rows of each part.

        Raises:
            DataError: a value that is none of this kind; the caller adds its file and line.
        """

    def cells(self, column: Column) -> Ints | None:
        """Return what each example adds to the width of a padded batch, [N]; None where that does not count."""
        return None

    def predicted(self, column: Column) -> Ints:
        """Return how much there is to predict in each example, [N]."""
        return np.ones(len(column.offsets[self.parts[0].name]) - 1, np.int64)

    def known(self, column: Column) -> bool:
        """Return whether any value is one that training had; True where there are none."""
        return True

    def fits(self, column: Column) -> bool:
        """Return False if a stored value is none that `encode` returns, such as an id that the encoder does not have.

        Called when a corpus is opened: a file may have been damaged, or made by somebody else.
        """
        return True

    @abstractmethod
    def collate(self, name: str, column: Column, examples: Ints) -> dict[str, PaddedArray]:
        """Return the tensors of some examples side by side.

        Args:
            name: of the field, and of its main tensor; other tensors have names that begin with it.
            column: the stored values.
            examples: [B], their numbers.
        """
